// y[c, m] = residual[c, m] + sum over k of weight[m, k] * x[c, k], for few columns c
//
// One group, a subgroup of eight, for ROWS rows m. Its threads are next to each other in k, so that
// weights and x come as vectors (lanes.glslh); the sums of a row are added up at its end. Weights are decoded
// once for all columns. For drivers that run on a CPU, where subgroups of eight were found.
//
// Defines    GROUP_SIZE  8
//            FORMAT
//            PARTS  of a row, decoded at once; a row and a block are a multiple
//            COLUMNS  at most
//            ROWS  at most 8, and eight sums or more with COLUMNS: more than 16 leave the registers
//            WEIGHT_ADDRESSES
//            EXPERTS  see product_columns.glslh; without it, all columns have the same weights
// Dispatch   (M / ROWS / y, y, tiles of columns)  y where M is more than a dispatch takes

#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

#include "bindings.glslh"

#include "dequant.glslh"
#include "lanes.glslh"

#include "lane_formats.glslh"
#include "lane_totals.glslh"

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
	uint pad_1;
}
params;

#endif

#include "product_columns.glslh"

// Where each run has its scale, or weights an offset; else the scale is one of the sum.
const bool SCALES_WEIGHTS = BLOCK_PARTS > 1u || HAS_OFFSET;

void main() {
	const ColumnTile columns = columns_of(gl_WorkGroupID.z, COLUMNS);
	// read here, as every use would check that there are so many words of them
	const Planes planes = Planes(params.plane_x, params.plane_y, params.plane_z, params.plane_w);
	const uint height = params.height;
	const uint row_parts = params.width / PART_WEIGHTS;
	const uint y = params.y;
#ifdef EXPERTS
	const uint residual = NONE;
#else
	const uint residual = params.residual;
#endif

	// rows past the last one compute the last one again, columns likewise
	const uint first_row = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * ROWS;
	uint first_part[ROWS];
	FloatRun column[COLUMNS];
	float sums[COLUMNS * ROWS];
	for (uint r = 0u; r < ROWS; r++) {
		first_part[r] = (columns.weight_row + min(first_row + r, height - 1u)) * row_parts;
	}
	for (uint c = 0u; c < COLUMNS; c++) {
		const uint own = min(columns.first + c, max(columns.end, 1u) - 1u);
		column[c] = FloatRun(params.x) + row_of_x(own) * (params.width / LANES);
	}
	for (uint i = 0u; i < COLUMNS * ROWS; i++) {
		sums[i] = 0.0;
	}
	const uint n_parts = columns.first >= columns.end ? 0u : row_parts; // a return would mask all that follows
	for (uint p = 0u; p < n_parts; p += PARTS) {
		const uint part = p % BLOCK_PARTS / PARTS * PARTS; // so that the compiler knows
		const uint run = ((p - part) * PART_WEIGHTS + part_column(part)) / LANES;
		[[unroll]] for (uint j = 0u; j < PARTS; j++) {
			const uint near = BLOCK_PARTS == 1u ? j * PART_WEIGHTS / LANES : part_column(j) / LANES;
			const uint far = near + RUN_STEP / LANES;
			[[unroll]] for (uint r = 0u; r < ROWS; r++) {
				const uint block = (first_part[r] + p) / BLOCK_PARTS;
				const Block shared_bits = load_lane_block(planes, block, j);
				const Scales scales = part_scales(shared_bits, part + j);
				vec4 w = quants_of_lane(planes, block, part, j, shared_bits);
				if (SCALES_WEIGHTS) {
					w *= scales.scale.xxyy;
				}
				if (HAS_OFFSET) {
					w += scales.offset.xxyy;
				}
				[[unroll]] for (uint c = 0u; c < COLUMNS; c++) {
					FloatRun first = column[c] + run;
					// apart from the sums, whose additions would wait for one another
					float sum = w.x * lane_float(first + near);
					sum = fma(w.y, lane_float(first + (near + 1u)), sum);
					sum = fma(w.z, lane_float(first + far), sum);
					sum = fma(w.w, lane_float(first + (far + 1u)), sum);
					const uint i = c * ROWS + r;
					sums[i] = SCALES_WEIGHTS ? sums[i] + sum : fma(sum, scales.scale.x, sums[i]);
				}
			}
		}
	}

	// all before the first branch: what one alone needed would be computed there, apart
	float totals[COLUMNS * ROWS / LANES];
	for (uint i = 0u; i < COLUMNS * ROWS / LANES; i++) {
		float eight[LANES];
		for (uint k = 0u; k < LANES; k++) {
			eight[k] = sums[i * LANES + k];
		}
		totals[i] = total_of_lane(eight);
	}
	for (uint i = 0u; i < COLUMNS * ROWS / LANES; i++) {
		const uint index = i * LANES + gl_SubgroupInvocationID;
		const uint row = first_row + index % ROWS;
		const uint c = index / ROWS;
		if (row < height && columns.first + c < columns.end) {
			const uint at = row_of_y(columns.first + c) * height + row;
			work[y + at] = residual == NONE ? totals[i] : work[residual + at] + totals[i];
		}
	}
}
