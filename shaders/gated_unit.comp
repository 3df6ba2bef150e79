// y[r, i] = activation(gate[r, i]) * up[r, i], by `activation`
//
//   0  gelu(g) = g / 2 * (1 + tanh(sqrt(2 / pi) * (g + 0.044715 g^3)))
//   1  silu(g) = g / (1 + exp(-g))
//
// One thread for a value. Source: Shazeer 2020, GLU Variants Improve Transformer.
//
// Defines    GROUP_SIZE
// Dispatch   (width / GROUP_SIZE, rows, 1)

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint gate; // offsets in floats
	uint up;
	uint y;
	uint width; // values in a row
	uint activation;
	uint pad[3];
}
params;

const uint ACTIVATION_SILU = 1u; // python/llm/gpu/operations.py has the same number

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint i = gl_GlobalInvocationID.x;
	if (row >= state[STATE_ROWS] || i >= params.width) {
		return;
	}
	const uint at = row * params.width + i;
	const float gate = work[params.gate + at];
	// (1 + tanh(a)) / 2 = 1 / (1 + exp(-2a)), so both are gate / (1 + exp(-slope))
	const float slope = params.activation == ACTIVATION_SILU
			? gate
			: 1.59576912 * (gate + 0.044715 * gate * gate * gate);
	// far below it is 0, and exp must not overflow
	const float activated = slope < -80.0 ? 0.0 : gate / (1.0 + exp(-slope));
	work[params.y + at] = activated * work[params.up + at];
}
