// In place: x[r, h] = x[r, h] / max(sqrt(sum over i of x[r, h, i]^2), eps)
//
// One group for a head of a row.
//
// Defines    GROUP_SIZE
// Dispatch   (heads, rows, 1)

#include "bindings.glslh"
#include "state.glslh"

#include "reduce.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint x; // offset in floats
	uint stride; // floats from row to row
	uint head_size;
	float eps;
}
params;

void main() {
	const uint row = gl_WorkGroupID.y;
	if (row >= state[STATE_ROWS]) {
		return; // the whole group
	}
	const uint x = params.x + row * params.stride + gl_WorkGroupID.x * params.head_size;
	float squares = 0.0;
	for (uint i = gl_LocalInvocationID.x; i < params.head_size; i += GROUP_SIZE) {
		squares += work[x + i] * work[x + i];
	}
	const float scale = 1.0 / max(sqrt(group_sum(squares)), params.eps);
	for (uint i = gl_LocalInvocationID.x; i < params.head_size; i += GROUP_SIZE) {
		work[x + i] *= scale;
	}
}
