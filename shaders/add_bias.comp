// x[r, i] = x[r, i] + bias[i]
//
// One thread for a value.
//
// Defines    GROUP_SIZE
// Dispatch   (width / GROUP_SIZE, rows, 1)

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint bias; // float32, in words
	uint x; // offset in floats
	uint width; // values in a row
	uint count_at; // word of the state that holds the number of rows
}
params;

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint i = gl_GlobalInvocationID.x;
	if (row >= state[params.count_at] || i >= params.width) {
		return;
	}
	work[params.x + row * params.width + i] += uintBitsToFloat(weights[params.bias + i]);
}
