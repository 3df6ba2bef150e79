// y[c, m] = residual[c, m] + sum over k of weight[m, k] * x[c, k], for at most COLUMNS columns c, by
// cooperative matrices whose elements the lanes put in place
//
// One group for 16 rows m, whose subgroups share k: each takes four parts of all rows, then the four that
// come SUBGROUPS times four later. A lane has one of the four parts, of two rows, and the same k of
// the columns: what it loads becomes its elements, and only the sums of the subgroups go through
// shared memory. Sums in float32; x is what halve_rows.comp wrote.
//
// Defines    GROUP_SIZE
//            SUBGROUP_SIZE  32
//            FORMAT
//            COLUMNS  8 or 16
// Dispatch   (1, M / 16, 1)

#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require

#include "bindings.glslh"
#include "halved_rows.glslh"
#include "matrix_fragments.glslh"
#include "product_params.glslh"

#include "dequant.glslh"
#include "eight_halves.glslh"
#include "weight_parts.glslh"
#include "weight_fragments.glslh"

layout(local_size_x = GROUP_SIZE) in;

const uint ROWS = 16u;
const uint SUBGROUPS = GROUP_SIZE / SUBGROUP_SIZE;
const uint EIGHTS = COLUMNS / 8u; // of columns
const uint STEP_PARTS = 4u;

shared float sums[SUBGROUPS][COLUMNS][ROWS + 4u];

PartWords staged[2]; // a part of the lane's upper row and of its lower one
uvec4 staged_x[EIGHTS * 4u]; // the same k of its columns: two quads of the first run, of the second

// Rows, columns and parts past the last one load the last one again.
void load_step(const uint step, const uint first_row, const uint n_columns) {
	const uint n_parts = params.width / PART_WEIGHTS;
	const uint p = min(step * STEP_PARTS + gl_SubgroupInvocationID % 4u, n_parts - 1u);
	[[unroll]] for (uint s = 0u; s < 2u; s++) {
		const uint row = min(first_row + s * 8u + gl_SubgroupInvocationID / 4u, params.height - 1u);
		staged[s] = load_part(params.planes, row * (params.width / BLOCK_WEIGHTS), p);
	}
	const uint part = p % BLOCK_PARTS;
	const uint k = (p - part) * PART_WEIGHTS + part_column(part);
	[[unroll]] for (uint e = 0u; e < EIGHTS; e++) {
		const uint column = min(e * 8u + gl_SubgroupInvocationID / 4u, n_columns - 1u);
		const uint row_at = halved_row(params.x, column, params.width) / 4u;
		[[unroll]] for (uint q = 0u; q < 4u; q++) {
			staged_x[e * 4u + q] = floatBitsToUint(work4[row_at + (k + q / 2u * RUN_STEP) / 8u + q % 2u]);
		}
	}
}

void main() {
	const uint n_columns = state[params.count_at];
	if (n_columns == 0u) {
		return; // the whole group
	}
	const uint first_row = gl_WorkGroupID.y * ROWS;
	const uint n_parts = params.width / PART_WEIGHTS;
	const uint n_steps = (n_parts + STEP_PARTS - 1u) / STEP_PARTS;
	SUM sum[EIGHTS];
	[[unroll]] for (uint e = 0u; e < EIGHTS; e++) {
		sum[e] = SUM(0.0);
	}
	load_step(gl_SubgroupID, first_row, n_columns);
	for (uint step = gl_SubgroupID; step < n_steps; step += SUBGROUPS) {
		const uint p = step * STEP_PARTS + gl_SubgroupInvocationID % 4u;
		const uint part = min(p, n_parts - 1u) % BLOCK_PARTS;
		const RowScales scales[2] = RowScales[2](scales_of(staged[0], part, p < n_parts), scales_of(staged[1], part, p < n_parts));
		[[unroll]] for (uint i = 0u; i < 4u; i++) {
			[[unroll]] for (uint run = 0u; run < 2u; run++) {
				const LEFT left = left_of(weights_of(staged[0], scales[0], part, i, run), weights_of(staged[1], scales[1], part, i, run));
				[[unroll]] for (uint e = 0u; e < EIGHTS; e++) {
					const uvec4 quad = staged_x[e * 4u + run * 2u + i / 2u];
					const RIGHT right = right_of(even_odd(quad[2u * (i & 1u)], quad[2u * (i & 1u) + 1u]));
					sum[e] = coopMatMulAdd(left, right, sum[e]);
				}
			}
		}
		load_step(step + SUBGROUPS, first_row, n_columns);
	}
	[[unroll]] for (uint e = 0u; e < EIGHTS; e++) {
		[[unroll]] for (uint i = 0u; i < 4u; i++) {
			const uint column = e * 8u + gl_SubgroupInvocationID % 4u * 2u + i % 2u;
			sums[gl_SubgroupID][column][i / 2u * 8u + gl_SubgroupInvocationID / 4u] = sum[e][i];
		}
	}
	barrier();
	for (uint i = gl_LocalInvocationID.x; i < ROWS * COLUMNS; i += GROUP_SIZE) {
		const uint row = first_row + i % ROWS;
		const uint column = i / ROWS;
		if (row < params.height && column < n_columns) {
			float total = 0.0;
			[[unroll]] for (uint s = 0u; s < SUBGROUPS; s++) {
				total += sums[s][column][i % ROWS];
			}
			const float scale = work[halved_scale(params.x, column, params.width)];
			const uint at = column * params.height + row;
			work[params.y + at] = with_residual(at, total * scale);
		}
	}
}
