// y[r, u, m] += bias[e, m], where e is the u-th of the experts of row r
//
// One thread for a value.
//
// Defines    GROUP_SIZE
// Dispatch   (U * M / GROUP_SIZE, rows, 1)

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint bias; // float32 weights, offset in words
	uint y; // offsets in floats
	uint choice;
	uint used; // U
	uint height; // M
	uint pad_1;
	uint pad_2;
	uint pad_3;
}
params;

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint i = gl_GlobalInvocationID.x;
	if (row >= state[STATE_ROWS] || i >= params.used * params.height) {
		return;
	}
	const uint expert = uint(work[params.choice + row * 2u * params.used + i / params.height]);
	const float bias = uintBitsToFloat(weights[params.bias + expert * params.height + i % params.height]);
	work[params.y + row * params.used * params.height + i] += bias;
}
