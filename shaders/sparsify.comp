// x[r, i] = max(0, x[r, i] - mean[r] - factor * deviation[r]), in place
//
// The deviation is the root of the sum of squares of x - mean, over width - 1. One group for a row.
//
// Defines    GROUP_SIZE
// Dispatch   (rows, 1, 1)

#include "bindings.glslh"
#include "state.glslh"

#include "reduce.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint x; // offset in floats
	uint width; // values in a row, at least 2
	float factor;
	uint pad_1;
}
params;

void main() {
	const uint row = gl_WorkGroupID.x;
	if (row >= state[STATE_ROWS]) {
		return; // the whole group
	}
	const uint x = params.x + row * params.width;
	const float shift = work[x]; // near the others, so that squares of what is left keep their digits
	vec2 parts = vec2(0.0);
	for (uint i = gl_LocalInvocationID.x; i < params.width; i += GROUP_SIZE) {
		const float value = work[x + i] - shift;
		parts += vec2(value, value * value);
	}
	const vec2 sums = group_sums(parts);
	const float mean = sums.x / float(params.width);
	const float variance = max(sums.y - sums.x * mean, 0.0) / float(params.width - 1u);
	const float least = shift + mean + params.factor * sqrt(variance);
	barrier(); // all have read the first value
	for (uint i = gl_LocalInvocationID.x; i < params.width; i += GROUP_SIZE) {
		work[x + i] = max(work[x + i] - least, 0.0);
	}
}
