// y[r, i] = activation(gate[r, i]) * up[r, i], or as gate.glslh says
//
// One thread for a value.
//
// Defines    GROUP_SIZE
// Dispatch   (width / GROUP_SIZE, rows, 1)

#include "bindings.glslh"
#include "gate.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint gate; // offsets in floats
	uint up;
	uint y;
	uint width; // values in a row
	uint up_stride; // floats from row to row
	uint activation;
	uint pad_1;
	uint pad_2;
}
params;

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint i = gl_GlobalInvocationID.x;
	if (row >= state[STATE_ROWS] || i >= params.width) {
		return;
	}
	const uint at = row * params.width + i;
	const float up = work[params.up + row * params.up_stride + i];
	work[params.y + at] = gated(work[params.gate + at], up, params.activation);
}
