// y[r, k] = scale * weight[token[r], k]
//
// One thread for each unit of 32 weights of a row r.
//
// Defines    GROUP_SIZE, FORMAT
// Dispatch   (units / GROUP_SIZE, rows, 1)

#include "bindings.glslh"
#include "state.glslh"

#include "dequant.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uvec4 planes; // of the weights, in words
	uint width; // K, a multiple of 32
	uint y; // offset in floats
	float scale;
	uint pad[1];
}
params;

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint unit = gl_GlobalInvocationID.x;
	const uint n_units = params.width / UNIT_WEIGHTS;
	if (row >= state[STATE_ROWS] || unit >= n_units) {
		return;
	}
	const Unit decoded = decode_unit(params.planes, state[STATE_TOKENS + row] * n_units + unit);
	const uint y = (params.y + row * params.width + unit_column(unit)) / 4u;
	for (uint i = 0u; i < 4u; i++) {
		work4[y + i] = params.scale * unit_weights(decoded, i);
		work4[y + RUN_STEP / 4u + i] = params.scale * unit_weights(decoded, 4u + i);
	}
}
