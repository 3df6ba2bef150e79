// y[r, i] = (x[r, i] - mean) * weight[i] / sqrt(variance + eps) + bias[i], both over the row's values
//
// One group for each row r. The bias may be absent (NONE); y may be x itself.
//
// Defines    GROUP_SIZE
// Dispatch   (rows, 1, 1)

#include "bindings.glslh"
#include "state.glslh"

#include "reduce.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint weight_at; // float32, in words
	uint bias; // float32, in words; or NONE
	uint width; // C, values in a row
	uint x; // offsets in floats
	uint y;
	float eps;
	uint count_at; // word of the state that holds the number of rows
	uint pad_1;
}
params;

void main() {
	const uint row = gl_WorkGroupID.x;
	if (row >= state[params.count_at]) {
		return; // the whole group
	}
	const uint lane = gl_LocalInvocationID.x;
	const uint first = row * params.width;

	float sum = 0.0;
	for (uint i = lane; i < params.width; i += GROUP_SIZE) {
		sum += work[params.x + first + i];
	}
	const float mean = group_sum(sum) / float(params.width);
	barrier(); // all have read the first sum
	float squares = 0.0;
	for (uint i = lane; i < params.width; i += GROUP_SIZE) {
		const float value = work[params.x + first + i] - mean;
		squares += value * value;
	}
	const float scale = 1.0 / sqrt(group_sum(squares) / float(params.width) + params.eps);

	for (uint i = lane; i < params.width; i += GROUP_SIZE) {
		float value = (work[params.x + first + i] - mean) * scale * uintBitsToFloat(weights[params.weight_at + i]);
		if (params.bias != NONE) {
			value += uintBitsToFloat(weights[params.bias + i]);
		}
		work[params.y + first + i] = value;
	}
}
