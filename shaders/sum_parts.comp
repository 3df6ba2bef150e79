// y[i] = residual[i] + sum over p of parts[p, i], in the same order each time
//
// One thread for a value i of all rows together. The residual may be absent (NONE) or be y itself.
//
// Defines    GROUP_SIZE
// Dispatch   (values / GROUP_SIZE, 1, 1)

#extension GL_EXT_control_flow_attributes : require

#include "bindings.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint parts; // offsets in floats
	uint y;
	uint residual; // or NONE
	uint n_parts;
	uint width; // values in a row
	uint count_at; // word of the state that holds the number of rows
	uint pad_1;
	uint pad_2;
}
params;

void main() {
	const uint i = gl_GlobalInvocationID.x;
	const uint count = state[params.count_at] * params.width;
	if (i >= count) {
		return;
	}
	float sum = params.residual == NONE ? 0.0 : work[params.residual + i];
	for (uint first = 0u; first < params.n_parts; first += 4u) {
		float values[4]; // all on their way before the first is needed
		[[unroll]] for (uint j = 0u; j < 4u; j++) {
			const uint p = first + j;
			values[j] = p < params.n_parts ? work[params.parts + p * count + i] : 0.0;
		}
		sum += (values[0] + values[1]) + (values[2] + values[3]);
	}
	work[params.y + i] = sum;
}
