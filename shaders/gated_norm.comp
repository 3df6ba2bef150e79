// y[r, h, i] = x[r, h, i] * weight[i] / sqrt(mean over i of x[r, h, i]^2 + eps) * silu(gate[r, h, i])
//
// One group for a head of a row. y may be x.
//
// Defines    GROUP_SIZE
// Dispatch   (heads, rows, 1)

#include "bindings.glslh"
#include "gate.glslh"
#include "state.glslh"

#include "reduce.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint weight; // float32, in words
	uint x; // offsets in floats
	uint gate;
	uint y;
	uint heads;
	uint head_size;
	float eps;
	uint pad_1;
}
params;

void main() {
	const uint row = gl_WorkGroupID.y;
	if (row >= state[STATE_ROWS]) {
		return; // the whole group
	}
	const uint first = (row * params.heads + gl_WorkGroupID.x) * params.head_size;
	float squares = 0.0;
	for (uint i = gl_LocalInvocationID.x; i < params.head_size; i += GROUP_SIZE) {
		const float value = work[params.x + first + i];
		squares += value * value;
	}
	const float scale = 1.0 / sqrt(group_sum(squares) / float(params.head_size) + params.eps);
	for (uint i = gl_LocalInvocationID.x; i < params.head_size; i += GROUP_SIZE) {
		const float normed = work[params.x + first + i] * scale * uintBitsToFloat(weights[params.weight + i]);
		work[params.y + first + i] = normed * activated(work[params.gate + first + i], ACTIVATION_SILU);
	}
}
