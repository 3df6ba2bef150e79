// For each token of the state's penalties, in place on one row of logits:
// logit = (logit > 0 ? logit / repeat : logit * repeat) - count * frequency - presence
//
// One thread for a token. Source: python/llm/gpu/penalties.py.
//
// Defines    GROUP_SIZE
// Dispatch   (penalties / GROUP_SIZE, 1, 1)

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint x; // offset of the row of logits, in floats
	uint vocabulary; // V
	float repeat;
	float presence;
	float frequency;
	uint pad[3];
}
params;

void main() {
	const uint i = gl_GlobalInvocationID.x;
	if (i >= state[STATE_PENALTIES]) {
		return;
	}
	const uint id = state[STATE_PENALTY_IDS + i];
	if (id >= params.vocabulary) {
		return;
	}
	const float logit = work[params.x + id];
	const float repeated = logit > 0.0 ? logit / params.repeat : logit * params.repeat;
	const float count = float(state[STATE_PENALTY_COUNTS + i]);
	work[params.x + id] = repeated - count * params.frequency - params.presence;
}
