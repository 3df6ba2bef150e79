// y[r, i] = x[r, i] * |like[r]| / |x[r]|
//
// Each may be columns of wider rows, and y be x itself. One group for a row.
//
// Defines    GROUP_SIZE
// Dispatch   (rows, 1, 1)

#include "bindings.glslh"
#include "state.glslh"

#include "reduce.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint x; // offsets in floats
	uint like;
	uint y;
	uint x_stride; // floats from row to row
	uint like_stride;
	uint y_stride;
	uint width; // values in a row
	uint pad_1;
}
params;

void main() {
	const uint row = gl_WorkGroupID.x;
	if (row >= state[STATE_ROWS]) {
		return; // the whole group
	}
	const uint x = params.x + row * params.x_stride;
	const uint like = params.like + row * params.like_stride;
	vec2 squares = vec2(0.0);
	for (uint i = gl_LocalInvocationID.x; i < params.width; i += GROUP_SIZE) {
		squares += vec2(work[like + i] * work[like + i], work[x + i] * work[x + i]);
	}
	const vec2 sums = group_sums(squares);
	const float scale = sqrt(sums.x) / sqrt(sums.y);
	for (uint i = gl_LocalInvocationID.x; i < params.width; i += GROUP_SIZE) {
		work[params.y + row * params.y_stride + i] = scale * work[x + i];
	}
}
