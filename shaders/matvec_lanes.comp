// y[c, m] = residual[c, m] + sum over k of weight[m, k] * x[c, k], for few columns c
//
// One group, a subgroup of eight, for ROWS rows m. Its threads are next to each other in k, so that
// weights and x come as vectors (lanes.glslh); the sums of a row are added up at its end. Weights are decoded
// once for all columns. For drivers
// that run on a CPU, where subgroups of eight were found.
//
// Defines    GROUP_SIZE  8
//            FORMAT
//            PARTS  of a row, decoded at once; a row and a block are a multiple
//            COLUMNS  at most
//            ROWS  at most 8: with more columns, fewer keep their sums in registers
//            WEIGHT_ADDRESSES
//            EXPERTS  see product_columns.glslh; without it, all columns have the same weights
// Dispatch   (M / ROWS / y, y, tiles of columns)  y where M is more than a dispatch takes

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

#ifdef EXPERTS

layout(push_constant, std430) uniform Params {
	uvec2 plane_x; // addresses
	uvec2 plane_y;
	uvec2 plane_z;
	uvec2 plane_w;
	uvec2 x; // address
	uint height; // M, rows of the weights of an expert
	uint width; // K, a multiple of 32
	uint y; // offsets in floats
	uint choice;
	uint used; // U, experts of a row
	uint inputs; // rows of x for a row of the run: 1 or U
	uint zero; // 0, which a compiler cannot know
	uint pad[3];
}
params;

#else

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
	uint count_at; // word of the state that holds the number of columns
	uint zero; // 0, which a compiler cannot know
}
params;

#endif

#include "product_columns.glslh"

const uint LINE_WORDS = 16u; // of the CPU's cache

// Loads the cache lines of what the next group reads at part p, where this group is: a CPU foresees a walk
// through memory in order, but not one along ROWS rows at once.
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
	const ColumnTile columns = columns_of(gl_WorkGroupID.z, COLUMNS);
	if (columns.first >= columns.end) {
		return; // the whole group
	}
	// read here, as every use would check that there are so many words of them
	const Planes planes = Planes(params.plane_x, params.plane_y, params.plane_z, params.plane_w);
	const Plane x = params.x;
	const uint height = params.height;
	const uint n_parts = params.width / PART_WEIGHTS;
	const uint column_runs = params.width / LANES;
	const uint y = params.y;
#ifdef EXPERTS
	const uint residual = NONE;
#else
	const uint residual = params.residual;
#endif
	const uint zero = params.zero;

	// rows past the last one compute the last one again
	const uint first_row = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * ROWS;
	uint parts[ROWS];
	float sums[COLUMNS][ROWS];
	for (uint r = 0u; r < ROWS; r++) {
		parts[r] = (columns.weight_row + min(first_row + r, height - 1u)) * n_parts;
		for (uint c = 0u; c < COLUMNS; c++) {
			sums[c][r] = 0.0;
		}
	}
	const uint next_part = (columns.weight_row + first_row + ROWS) * n_parts;
	const uint last_part = (columns.weight_row + height) * n_parts - 1u;
	uint touched = 0u;
	for (uint p = 0u; p < n_parts; p += PARTS) {
		touched |= touch_ahead(planes.x, PART_BYTES.x, next_part, last_part, p);
		touched |= touch_ahead(planes.y, PART_BYTES.y, next_part, last_part, p);
		for (uint j = 0u; j < PARTS; j++) {
			const uint part = (p + j) % BLOCK_PARTS;
			const uint run = ((p + j - part) * PART_WEIGHTS + part_column(part)) / LANES;
			vec2 near[COLUMNS];
			vec2 far[COLUMNS];
			for (uint c = 0u; c < COLUMNS; c++) {
				// columns past the last one are that one again
				const uint at = run + row_of_x(min(columns.first + c, columns.end - 1u)) * column_runs;
				near[c] = vec2(lane_float(x, at), lane_float(x, at + 1u));
				far[c] = vec2(lane_float(x, at + RUN_STEP / LANES), lane_float(x, at + RUN_STEP / LANES + 1u));
			}
			for (uint r = 0u; r < ROWS; r++) {
				const uint block = (parts[r] + p + j) / BLOCK_PARTS;
				const Block shared_bits = load_block(planes, block);
				const Scales scales = part_scales(shared_bits, part);
				const vec4 q = quants_of_lane(planes, block, part, shared_bits);
				if (COLUMNS == 1u) {
					sums[0][r] = fma(fma(q.y, near[0].y, q.x * near[0].x), scales.scale.x, sums[0][r]);
					sums[0][r] = fma(fma(q.w, far[0].y, q.z * far[0].x), scales.scale.y, sums[0][r]);
					if (HAS_OFFSET) {
						sums[0][r] = fma(near[0].x + near[0].y, scales.offset.x, sums[0][r]);
						sums[0][r] = fma(far[0].x + far[0].y, scales.offset.y, sums[0][r]);
					}
				} else {
					vec4 w = q * scales.scale.xxyy;
					if (HAS_OFFSET) {
						w += scales.offset.xxyy;
					}
					for (uint c = 0u; c < COLUMNS; c++) {
						sums[c][r] = fma(w.x, near[c].x, fma(w.y, near[c].y, sums[c][r]));
						sums[c][r] = fma(w.z, far[c].x, fma(w.w, far[c].y, sums[c][r]));
					}
				}
			}
		}
	}

	const uint row = first_row + gl_SubgroupInvocationID;
	for (uint c = 0u; c < COLUMNS; c++) {
		float own = 0.0;
		for (uint r = 0u; r < ROWS; r++) {
			const float sum = subgroupAdd(sums[c][r]);
			own = gl_SubgroupInvocationID == r ? sum : own;
		}
		if (gl_SubgroupInvocationID < ROWS && row < height && columns.first + c < columns.end) {
			const uint at = row_of_y(columns.first + c) * height + row;
			own += float(touched & zero);
			work[y + at] = residual == NONE ? own : work[residual + at] + own;
		}
	}
}
