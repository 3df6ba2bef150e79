// y[r, i] = gelu(gate[r, i]) * up[r, i], gelu(g) = g / 2 * (1 + tanh(sqrt(2 / pi) * (g + 0.044715 g^3)))
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
}
params;

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint i = gl_GlobalInvocationID.x;
	if (row >= state[STATE_ROWS] || i >= params.width) {
		return;
	}
	const uint at = row * params.width + i;
	const float gate = work[params.gate + at];
	const float inner = 0.79788456 * (gate + 0.044715 * gate * gate * gate);
	// (1 + tanh(a)) / 2 = 1 / (1 + exp(-2a)); far below it is 0, and exp must not overflow
	const float gelu = inner < -40.0 ? 0.0 : gate / (1.0 + exp(-2.0 * inner));
	work[params.y + at] = gelu * work[params.up + at];
}
