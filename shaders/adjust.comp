// For each token that the state lists, in place on one row of logits:
// logit = (logit > 0 ? logit / repeat : logit * repeat) - loss
//
// One thread for a token. Source: python/llm/gpu/adjustments.py.
//
// Defines    GROUP_SIZE
// Dispatch   (tokens / GROUP_SIZE, 1, 1)

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint x; // offset of the row of logits, in floats
	uint vocabulary; // V
	uint pad_1;
	uint pad_2;
}
params;

void main() {
	const uint i = gl_GlobalInvocationID.x;
	if (i >= state[STATE_ADJUSTED]) {
		return;
	}
	const uint id = state[STATE_ADJUSTED_IDS + i];
	if (id >= params.vocabulary) {
		return;
	}
	const float logit = work[params.x + id];
	const float repeat = uintBitsToFloat(state[STATE_REPEATS + i]);
	const float repeated = logit > 0.0 ? logit / repeat : logit * repeat;
	work[params.x + id] = repeated - uintBitsToFloat(state[STATE_LOSSES + i]);
}
