// y[r, k] = scale * weight[token[r], k]
//
// One thread for a part, 32 weights, of a row r.
//
// Defines    GROUP_SIZE, FORMAT
//            WEIGHT_ADDRESSES  for a weight that no set can have, because it is too large
// Dispatch   (K / 32 / GROUP_SIZE, rows, 1)

#ifdef WEIGHT_ADDRESSES
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

#include "bindings.glslh"
#include "state.glslh"

#include "dequant.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uvec2 plane_x; // of the weights: addresses, or words of the bound buffer, in the first components
	uvec2 plane_y;
	uvec2 plane_z;
	uvec2 plane_w;
	uint width; // K, a multiple of 32
	uint y; // offset in floats
	float scale;
	uint pad_1;
}
params;

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint p = gl_GlobalInvocationID.x;
	const uint n_parts = params.width / PART_WEIGHTS;
	if (row >= state[STATE_ROWS] || p >= n_parts) {
		return;
	}
#ifdef WEIGHT_ADDRESSES
	const Planes planes = Planes(params.plane_x, params.plane_y, params.plane_z, params.plane_w);
#else
	const Planes planes = Planes(params.plane_x.x, params.plane_y.x, params.plane_z.x, params.plane_w.x);
#endif
	const uint block = (state[STATE_TOKENS + row] * n_parts + p) / BLOCK_PARTS;
	const uint part = p % BLOCK_PARTS;
	const Block shared_bits = load_block(planes, block);
	const Scales scales = part_scales(shared_bits, part);
	const uint y = (params.y + row * params.width + (p - part) * PART_WEIGHTS + part_column(part)) / 4u;
	for (uint i = 0u; i < 4u; i++) {
		const Pair w = load_weights(planes, block, shared_bits, part, scales, i);
		work4[y + i] = params.scale * w.first;
		work4[y + RUN_STEP / 4u + i] = params.scale * w.second;
	}
}
