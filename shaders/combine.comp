// y[r, i] = scale * (x[r, i] + factor * other[r, i]) * weight[i]
//
// Each may be columns of wider rows; the other and the weight may be absent (NONE), and y be x itself. One thread
// for a value.
//
// Defines    GROUP_SIZE
// Dispatch   (width / GROUP_SIZE, rows, 1)

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint x; // offsets in floats
	uint other; // or NONE
	uint y;
	uint x_stride; // floats from row to row
	uint other_stride;
	uint y_stride;
	uint weight; // float32, in words, or NONE
	uint width; // values in a row
	float factor;
	float scale;
	uint count_at; // word of the state that holds the number of rows
	uint pad_1;
}
params;

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint i = gl_GlobalInvocationID.x;
	if (row >= state[params.count_at] || i >= params.width) {
		return;
	}
	float value = work[params.x + row * params.x_stride + i];
	if (params.other != NONE) {
		value += params.factor * work[params.other + row * params.other_stride + i];
	}
	if (params.weight != NONE) {
		value *= uintBitsToFloat(weights[params.weight + i]);
	}
	work[params.y + row * params.y_stride + i] = params.scale * value;
}
