// y[r, i] = residual[r, i] + sum over u of share[r, u] * x[r, u, i]
//
// One thread for a value. The residual may be absent (NONE) or be y itself.
//
// Defines    GROUP_SIZE
// Dispatch   (width / GROUP_SIZE, rows, 1)

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint x; // offsets in floats
	uint choice; // of each row U experts, then their shares
	uint y;
	uint residual; // or NONE
	uint used; // U
	uint width; // C
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
	const uint shares = params.choice + (row * 2u + 1u) * params.used;
	const uint x = params.x + row * params.used * params.width + i;
	float sum = 0.0;
	for (uint u = 0u; u < params.used; u++) {
		sum += work[shares + u] * work[x + u * params.width];
	}
	const uint at = row * params.width + i;
	work[params.y + at] = params.residual == NONE ? sum : work[params.residual + at] + sum;
}
