// y[m] = residual[m] + sum over k of weight[m, k] * x[k], for one column x
//
// One group, a subgroup of eight, for eight rows m. Its threads are next to each other in k, so that
// weights and x come as vectors (lanes.glslh); the sums of a row are added up at its end. For drivers
// that run on a CPU, where subgroups of eight were found.
//
// Defines    GROUP_SIZE  8
//            FORMAT
//            PARTS  of a row, decoded at once; a row and a block are a multiple
//            WEIGHT_ADDRESSES
// Dispatch   (M / 8, 1, 1)

#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_basic : require

#include "bindings.glslh"

#include "dequant.glslh"
#include "lanes.glslh"

#include "lane_formats.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uvec2 plane_x; // addresses
	uvec2 plane_y;
	uvec2 plane_z;
	uvec2 plane_w;
	uvec2 x; // address
	uint height; // M, rows of the weights
	uint width; // K, a multiple of 32
	uint y; // offsets in floats
	uint residual; // or NONE
	uint count_at; // word of the state that holds the number of columns, 0 or 1
	uint zero; // 0, which a compiler cannot know
}
params;

const uint LINE_WORDS = 16u; // of the CPU's cache

// Loads the cache lines of what the next group reads at part p, where this group is: a CPU foresees a walk
// through memory in order, but not one along eight rows at once.
uint touch_ahead(const Plane plane, const uint part_bytes, const uint next_part, const uint last_part, const uint p) {
	const uint first = (next_part + p * LANES) * part_bytes / 4u;
	const uint last = last_part * part_bytes / 4u;
	uint touched = 0u;
	for (uint i = 0u; i < PARTS * LANES * part_bytes / 4u; i += LINE_WORDS) {
		touched |= word_at(plane, min(first + i, last));
	}
	return touched;
}

void main() {
	if (state[params.count_at] == 0u) {
		return; // the whole group
	}
	// read here, as every use would check that there are so many words of them
	const Planes planes = Planes(params.plane_x, params.plane_y, params.plane_z, params.plane_w);
	const Plane x = params.x;
	const uint height = params.height;
	const uint n_parts = params.width / PART_WEIGHTS;
	const uint y = params.y;
	const uint residual = params.residual;
	const uint zero = params.zero;

	// rows past the last one compute the last one again
	const uint first_row = gl_WorkGroupID.x * LANES;
	uint parts[LANES];
	float sums[LANES];
	for (uint r = 0u; r < LANES; r++) {
		parts[r] = min(first_row + r, height - 1u) * n_parts;
		sums[r] = 0.0;
	}
	const uint next_part = (first_row + LANES) * n_parts;
	const uint last_part = height * n_parts - 1u;
	uint touched = 0u;
	for (uint p = 0u; p < n_parts; p += PARTS) {
		touched |= touch_ahead(planes.x, PART_BYTES.x, next_part, last_part, p);
		touched |= touch_ahead(planes.y, PART_BYTES.y, next_part, last_part, p);
		for (uint j = 0u; j < PARTS; j++) {
			const uint part = (p + j) % BLOCK_PARTS;
			const uint run = ((p + j - part) * PART_WEIGHTS + part_column(part)) / LANES;
			const vec2 near = vec2(lane_float(x, run), lane_float(x, run + 1u));
			const vec2 far = vec2(lane_float(x, run + RUN_STEP / LANES), lane_float(x, run + RUN_STEP / LANES + 1u));
			for (uint r = 0u; r < LANES; r++) {
				const uint block = (parts[r] + p + j) / BLOCK_PARTS;
				const Block shared_bits = load_block(planes, block);
				const Scales scales = part_scales(shared_bits, part);
				const vec4 q = quants_of_lane(planes, block, part, shared_bits);
				sums[r] = fma(fma(q.y, near.y, q.x * near.x), scales.scale.x, sums[r]);
				sums[r] = fma(fma(q.w, far.y, q.z * far.x), scales.scale.y, sums[r]);
				if (HAS_OFFSET) {
					sums[r] = fma(near.x + near.y, scales.offset.x, sums[r]);
					sums[r] = fma(far.x + far.y, scales.offset.y, sums[r]);
				}
			}
		}
	}

	float own = 0.0;
	for (uint r = 0u; r < LANES; r++) {
		const float sum = subgroupAdd(sums[r]);
		own = gl_SubgroupInvocationID == r ? sum : own;
	}
	const uint row = first_row + gl_SubgroupInvocationID;
	if (row < height) {
		own += float(touched & zero);
		work[y + row] = residual == NONE ? own : work[residual + row] + own;
	}
}
