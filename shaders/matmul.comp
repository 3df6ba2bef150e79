// y[c, m] = sum over k of weight[m, k] * x[c, k]
//
// One group for a tile of 64 rows m and 64 columns c; a thread sums 4 rows by 8 columns. For each
// part of 32 weights, half of the threads decode a row's part and half bring a column's part of x.
//
// Defines    GROUP_SIZE  128
//            FORMAT
// Dispatch   (M / 64, columns / 64, 1)

#include "bindings.glslh"
#include "product_params.glslh"

#include "dequant.glslh"

layout(local_size_x = GROUP_SIZE) in;

const uint TILE = 64u;

shared vec4 weight_tile[PART_WEIGHTS][TILE / 4u];
shared vec4 x_tile[PART_WEIGHTS][TILE / 4u];

void stage_weights(const uint row, const uint local_row, const uint p) {
	const uint n_parts = params.width / PART_WEIGHTS;
	const uint block = (min(row, params.height - 1u) * n_parts + p) / BLOCK_PARTS;
	const uint part = p % BLOCK_PARTS;
	const Block shared_bits = load_block(params.planes, block);
	const Scales scales = part_scales(shared_bits, part);
	for (uint i = 0u; i < 4u; i++) {
		const Pair w = load_weights(params.planes, block, shared_bits, part, scales, i);
		for (uint j = 0u; j < 4u; j++) {
			weight_tile[4u * i + j][local_row >> 2u][local_row & 3u] = w.first[j];
			weight_tile[16u + 4u * i + j][local_row >> 2u][local_row & 3u] = w.second[j];
		}
	}
}

void stage_x(const uint column, const uint local_column, const uint p) {
	const uint part = p % BLOCK_PARTS;
	const uint row = column * params.width;
	const uint x = (params.x + row + (p - part) * PART_WEIGHTS + part_column(part)) / 4u;
	for (uint i = 0u; i < 4u; i++) {
		const vec4 first = work4[x + i];
		const vec4 second = work4[x + RUN_STEP / 4u + i];
		for (uint j = 0u; j < 4u; j++) {
			x_tile[4u * i + j][local_column >> 2u][local_column & 3u] = first[j];
			x_tile[16u + 4u * i + j][local_column >> 2u][local_column & 3u] = second[j];
		}
	}
}

void main() {
	const uint first_row = gl_WorkGroupID.x * TILE;
	const uint first_column = gl_WorkGroupID.y * TILE;
	const uint n_columns = state[params.count_at];
	if (first_column >= n_columns) {
		return; // the whole group
	}
	const uint thread = gl_LocalInvocationID.x;
	const uint row_vector = thread & 15u; // rows 4 * row_vector and the three after it
	const uint column_vector = (thread >> 4u) * 2u; // columns 4 * column_vector and seven after it

	vec4 sums[8]; // of a column: four rows
	for (uint c = 0u; c < 8u; c++) {
		sums[c] = vec4(0.0);
	}
	for (uint p = 0u; p < params.width / PART_WEIGHTS; p++) {
		// rows and columns past the last one stage the last one again
		if (thread < TILE) {
			stage_weights(first_row + thread, thread, p);
		} else {
			stage_x(min(first_column + thread - TILE, n_columns - 1u), thread - TILE, p);
		}
		barrier();
		for (uint k = 0u; k < PART_WEIGHTS; k++) {
			const vec4 w = weight_tile[k][row_vector];
			const vec4 low = x_tile[k][column_vector];
			const vec4 high = x_tile[k][column_vector + 1u];
			for (uint c = 0u; c < 4u; c++) {
				sums[c] += w * low[c];
				sums[4u + c] += w * high[c];
			}
		}
		barrier();
	}

	for (uint c = 0u; c < 8u; c++) {
		const uint column = first_column + column_vector * 4u + c;
		for (uint j = 0u; j < 4u; j++) {
			const uint row = first_row + row_vector * 4u + j;
			if (column < n_columns && row < params.height) {
				work[params.y + column * params.height + row] = sums[c][j];
			}
		}
	}
}
