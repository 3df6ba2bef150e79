// y[r, p, i] = scale * (residual[r, p, i] + x[r, p, i] * weight[i] / sqrt(mean over i of x[r, p, i]^2 + eps))
//
// One group for each part p of a row r; mostly a row is one part. The weight may be absent (NONE), and so
// may the residual, or that be y itself.
//
// Defines    GROUP_SIZE
// Dispatch   (rows, parts, 1)

#include "bindings.glslh"
#include "state.glslh"

#include "reduce.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint norm; // float32 weight, in words, or NONE
	uint width; // values in a part
	uint stride; // C, values in a row
	uint x; // offsets in floats
	uint y;
	uint residual; // or NONE
	float eps;
	float scale;
	uint count_at; // word of the state that holds the number of rows
	uint pad_1;
	uint pad_2;
	uint pad_3;
}
params;

void main() {
	const uint row = gl_WorkGroupID.x;
	if (row >= state[params.count_at]) {
		return; // the whole group
	}
	const uint lane = gl_LocalInvocationID.x;
	const uint first = row * params.stride + gl_WorkGroupID.y * params.width;

	float squares = 0.0;
	for (uint i = lane; i < params.width; i += GROUP_SIZE) {
		const float value = work[params.x + first + i];
		squares += value * value;
	}
	const float mean_square = group_sum(squares) / float(params.width);
	const float scale = 1.0 / sqrt(mean_square + params.eps);

	for (uint i = lane; i < params.width; i += GROUP_SIZE) {
		const float weight = params.norm == NONE ? 1.0 : uintBitsToFloat(weights[params.norm + i]);
		float value = work[params.x + first + i] * scale * weight;
		if (params.residual != NONE) {
			value += work[params.residual + first + i];
		}
		work[params.y + first + i] = params.scale * value;
	}
}
