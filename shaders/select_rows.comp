// y[o, i] = x[row of output o, i]
//
// One thread for a value.
//
// Defines    GROUP_SIZE
// Dispatch   (width / GROUP_SIZE, outputs, 1)

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint x; // offsets in floats
	uint y;
	uint width; // values in a row
	uint pad_1;
}
params;

void main() {
	const uint i = gl_GlobalInvocationID.x;
	const uint o = gl_WorkGroupID.y;
	if (o >= state[STATE_OUTPUTS] || i >= params.width) {
		return;
	}
	const uint row = state[STATE_OUTPUT_ROWS + o];
	work[params.y + o * params.width + i] = work[params.x + row * params.width + i];
}
