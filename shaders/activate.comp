// x[r, i] = activation(x[r, i])
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
	uint x; // offset in floats
	uint width; // values in a row
	uint activation;
	uint pad_1;
}
params;

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint i = gl_GlobalInvocationID.x;
	if (row >= state[STATE_ROWS] || i >= params.width) {
		return;
	}
	const uint at = params.x + row * params.width + i;
	work[at] = activated(work[at], params.activation);
}
