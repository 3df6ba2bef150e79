// y[r, i] = residual[r, i] + x[r, i] * weight[i] / sqrt(mean over i of x[r, i]^2 + eps)
//
// One group for each row r. The residual may be absent (NONE) or be y itself.
//
// Defines    GROUP_SIZE
// Dispatch   (rows, 1, 1)

#include "bindings.glslh"
#include "state.glslh"

#include "reduce.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uvec4 planes; // .x: the float32 weight, in words
	uint width; // C, values in a row
	uint x; // offsets in floats
	uint y;
	uint residual; // or NONE
	float eps;
	uint count_at; // word of the state that holds the number of rows
	uint pad[2];
}
params;

void main() {
	const uint row = gl_WorkGroupID.x;
	if (row >= state[params.count_at]) {
		return; // the whole group
	}
	const uint lane = gl_LocalInvocationID.x;
	const uint first = row * params.width;

	float squares = 0.0;
	for (uint i = lane; i < params.width; i += GROUP_SIZE) {
		const float value = work[params.x + first + i];
		squares += value * value;
	}
	const float mean_square = group_sum(squares) / float(params.width);
	const float scale = 1.0 / sqrt(mean_square + params.eps);

	for (uint i = lane; i < params.width; i += GROUP_SIZE) {
		float value = work[params.x + first + i] * scale * uintBitsToFloat(weights[params.planes.x + i]);
		if (params.residual != NONE) {
			value += work[params.residual + first + i];
		}
		work[params.y + first + i] = value;
	}
}
