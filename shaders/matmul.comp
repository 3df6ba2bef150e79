// y[c, m] = residual[c, m] + sum over k of weight[m, k] * x[c, k]
//
// One group for a tile of TILE_ROWS rows m and TILE_COLUMNS columns c; a thread sums 4 by 4. For
// each part of 32 weights, some threads decode a row's part and others bring a column's part of x;
// they load the next part while all sum up this one. Sums in float32.
//
// Defines    GROUP_SIZE  TILE_ROWS * TILE_COLUMNS / 16, at least TILE_ROWS + TILE_COLUMNS
//            FORMAT, TILE_ROWS, TILE_COLUMNS
//            EXPERTS  see product_columns.glslh; without it, all columns have the same weights
// Dispatch   (M / TILE_ROWS, tiles of columns, 1)

#include "bindings.glslh"
#include "product_params.glslh"

#include "dequant.glslh"

layout(local_size_x = GROUP_SIZE) in;

const uint ROW_VECTORS = TILE_ROWS / 4;

shared vec4 weight_tile[PART_WEIGHTS][TILE_ROWS / 4];
shared vec4 x_tile[PART_WEIGHTS][TILE_COLUMNS / 4];

// What a thread has loaded of a part: 32 values, those of the second run from `values[4]` on.
struct Staged {
	vec4 values[8];
};

Staged load_row(const uint row, const uint p) {
	const uint block = (row * (params.width / PART_WEIGHTS) + p) / BLOCK_PARTS;
	const uint part = p % BLOCK_PARTS;
	const Block shared_bits = load_block(params.planes, block);
	const Scales scales = part_scales(shared_bits, part);
	Staged staged;
	for (uint i = 0u; i < 4u; i++) {
		const Pair w = load_weights(params.planes, block, shared_bits, part, scales, i);
		staged.values[i] = w.first;
		staged.values[4u + i] = w.second;
	}
	return staged;
}

Staged load_column(const uint x_row, const uint p) {
	const uint part = p % BLOCK_PARTS;
	const uint first = x_row * params.width + (p - part) * PART_WEIGHTS + part_column(part);
	Staged staged;
	for (uint i = 0u; i < 4u; i++) {
		staged.values[i] = work4[(params.x + first) / 4u + i];
		staged.values[4u + i] = work4[(params.x + first + RUN_STEP) / 4u + i];
	}
	return staged;
}

void main() {
	const uint first_row = gl_WorkGroupID.x * TILE_ROWS;
	const ColumnTile columns = columns_of(gl_WorkGroupID.y, TILE_COLUMNS);
	if (columns.first >= columns.end) {
		return; // the whole group
	}
	const uint thread = gl_LocalInvocationID.x;
	const uint row_vector = thread % ROW_VECTORS;
	const uint column_vector = thread / ROW_VECTORS;
	const bool has_row = thread < TILE_ROWS;
	const uint own_column = thread - TILE_ROWS; // of those threads that have one
	const bool has_column = !has_row && own_column < TILE_COLUMNS;
	// rows and columns past the last one load the last one again
	const uint row = columns.weight_row + min(first_row + thread, params.height - 1u);
	const uint x_row = row_of_x(min(columns.first + own_column, columns.end - 1u));

	vec4 sums[4] = vec4[4](vec4(0.0), vec4(0.0), vec4(0.0), vec4(0.0)); // of a column: four rows
	Staged staged;
	if (has_row) {
		staged = load_row(row, 0u);
	} else if (has_column) {
		staged = load_column(x_row, 0u);
	}
	const uint n_parts = params.width / PART_WEIGHTS;
	for (uint p = 0u; p < n_parts; p++) {
		if (has_row) {
			for (uint i = 0u; i < 8u; i++) {
				for (uint j = 0u; j < 4u; j++) {
					weight_tile[4u * i + j][thread >> 2u][thread & 3u] = staged.values[i][j];
				}
			}
		} else if (has_column) {
			for (uint i = 0u; i < 8u; i++) {
				for (uint j = 0u; j < 4u; j++) {
					x_tile[4u * i + j][own_column >> 2u][own_column & 3u] = staged.values[i][j];
				}
			}
		}
		barrier();
		if (p + 1u < n_parts && has_row) {
			staged = load_row(row, p + 1u);
		} else if (p + 1u < n_parts && has_column) {
			staged = load_column(x_row, p + 1u);
		}
		for (uint k = 0u; k < PART_WEIGHTS; k++) {
			const vec4 w = weight_tile[k][row_vector];
			const vec4 x = x_tile[k][column_vector];
			for (uint c = 0u; c < 4u; c++) {
				sums[c] += w * x[c];
			}
		}
		barrier();
	}

	for (uint c = 0u; c < 4u; c++) {
		const uint y_column = columns.first + column_vector * 4u + c;
		for (uint j = 0u; j < 4u; j++) {
			const uint y_row = first_row + row_vector * 4u + j;
			if (y_column < columns.end && y_row < params.height) {
				const uint at = row_of_y(y_column) * params.height + y_row;
				work[params.y + at] = with_residual(at, sums[c][j]);
			}
		}
	}
}
