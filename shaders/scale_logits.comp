// x[o, i] = cap * tanh(scale * x[o, i] / cap), or scale * x[o, i] where the cap is 0
//
// What is infinite stays so, for those who look for the best: a cap would hide that something overflows.
//
// One thread for a value.
//
// Defines    GROUP_SIZE
// Dispatch   (V / GROUP_SIZE, output rows, 1)

#include "bindings.glslh"
#include "soft_cap.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint x; // offset in floats
	uint width; // V, values in a row
	float scale;
	float soft_cap;
}
params;

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint i = gl_GlobalInvocationID.x;
	if (row >= state[STATE_OUTPUTS] || i >= params.width) {
		return;
	}
	const uint at = params.x + row * params.width + i;
	const float scaled = params.scale * work[at];
	work[at] = isinf(scaled) ? scaled : soft_capped(scaled, params.soft_cap);
}
