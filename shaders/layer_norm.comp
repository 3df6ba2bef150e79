// y[r, i] = (x[r, i] - mean) * weight[i] / sqrt(variance + eps), mean and variance over i of x[r, i]
//
// One group for each row r. y may be x.
//
// Defines    GROUP_SIZE
// Dispatch   (rows, 1, 1)

#include "bindings.glslh"
#include "state.glslh"

#include "reduce.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint weight; // float32, in words
	uint width; // C, values in a row
	uint x; // offsets in floats
	uint y;
	float eps;
	uint pad[3];
}
params;

void main() {
	const uint row = gl_WorkGroupID.x;
	if (row >= state[STATE_ROWS]) {
		return; // the whole group
	}
	const uint lane = gl_LocalInvocationID.x;
	const uint first = row * params.width;

	float sum = 0.0;
	for (uint i = lane; i < params.width; i += GROUP_SIZE) {
		sum += work[params.x + first + i];
	}
	const float mean = group_sum(sum) / float(params.width);
	barrier();

	float squares = 0.0;
	for (uint i = lane; i < params.width; i += GROUP_SIZE) {
		const float apart = work[params.x + first + i] - mean;
		squares += apart * apart;
	}
	const float variance = group_sum(squares) / float(params.width);
	const float scale = 1.0 / sqrt(variance + params.eps);

	for (uint i = lane; i < params.width; i += GROUP_SIZE) {
		const float weight = uintBitsToFloat(weights[params.weight + i]);
		work[params.y + first + i] = (work[params.x + first + i] - mean) * scale * weight;
	}
}
