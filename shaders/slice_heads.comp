// y[r, h, i] = x[r, h, first + i], for i below `size`
//
// One thread for a value.
//
// Defines    GROUP_SIZE
// Dispatch   (heads * size / GROUP_SIZE, rows, 1)

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint x; // offsets in floats
	uint y;
	uint heads;
	uint head_size; // of x
	uint size; // of what is taken of it
	uint first;
	uint pad_1;
	uint pad_2;
}
params;

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint i = gl_GlobalInvocationID.x;
	const uint width = params.heads * params.size;
	if (row >= state[STATE_ROWS] || i >= width) {
		return;
	}
	const uint head = row * params.heads + i / params.size;
	work[params.y + row * width + i] = work[params.x + head * params.head_size + params.first + i % params.size];
}
