// x[r, i] = x[r, i] + table[position[r], i]
//
// One thread for a value.
//
// Defines    GROUP_SIZE
// Dispatch   (width / GROUP_SIZE, rows, 1)

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint table; // float32, in words; a row for each position
	uint x; // offset in floats
	uint width; // values in a row
	uint pad_1;
}
params;

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint i = gl_GlobalInvocationID.x;
	if (row >= state[STATE_ROWS] || i >= params.width) {
		return;
	}
	const uint from = params.table + state[STATE_POSITIONS + row] * params.width;
	work[params.x + row * params.width + i] += uintBitsToFloat(weights[from + i]);
}
