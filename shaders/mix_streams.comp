// y[r, s, i] = x[r, s, i] + sum over j of (bias + a[r, s, j]) * z[r, j, i]
//
// where a[r, s, j] = sum over k of weight[s * J + j, k] * tanh(router[r, k]). One thread for a column of all
// streams of a row, up to MOST_STREAMS of them.
//
// Defines    GROUP_SIZE, MOST_STREAMS
// Dispatch   (width / GROUP_SIZE, rows, 1)

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint weight; // float32, in words
	uint router; // offsets in floats
	uint x;
	uint z;
	uint y;
	uint streams; // S
	uint mixed; // J, at most S
	uint width; // C
	float bias;
	uint pad_1;
	uint pad_2;
	uint pad_3;
}
params;

shared float routed[MOST_STREAMS];
shared float amounts[MOST_STREAMS * MOST_STREAMS];

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint streams = params.streams;
	const uint lane = gl_LocalInvocationID.x;
	if (row >= state[STATE_ROWS]) {
		return; // the whole group
	}
	if (lane < streams) {
		routed[lane] = tanh(clamp(work[params.router + row * streams + lane], -15.0, 15.0));
	}
	barrier();
	for (uint amount = lane; amount < streams * params.mixed; amount += GROUP_SIZE) {
		float sum = params.bias;
		for (uint k = 0u; k < streams; k++) {
			sum += uintBitsToFloat(weights[params.weight + amount * streams + k]) * routed[k];
		}
		amounts[amount] = sum;
	}
	barrier();
	const uint i = gl_GlobalInvocationID.x;
	if (i >= params.width) {
		return;
	}
	const uint z = params.z + row * params.mixed * params.width + i;
	const uint first = row * streams * params.width + i;
	for (uint s = 0u; s < streams; s++) {
		float sum = work[params.x + first + s * params.width];
		for (uint j = 0u; j < params.mixed; j++) {
			sum += amounts[s * params.mixed + j] * work[z + j * params.width];
		}
		work[params.y + first + s * params.width] = sum;
	}
}
