// x[o, i] = cap * tanh(x[o, i] / cap), in place
//
// What is not finite stays so, as it is looked for afterwards. One thread for a value of an output row.
//
// Defines    GROUP_SIZE
// Dispatch   (width / GROUP_SIZE, output rows, 1)

#include "bindings.glslh"
#include "state.glslh"

#include "soft_cap.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint x; // offset in floats
	uint width; // values in a row
	float cap;
	uint pad[1];
}
params;

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint i = gl_GlobalInvocationID.x;
	if (row >= state[STATE_OUTPUTS] || i >= params.width) {
		return;
	}
	const uint at = params.x + row * params.width + i;
	work[at] = soft_capped(work[at], params.cap);
}
