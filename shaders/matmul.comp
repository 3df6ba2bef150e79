// y[c, m] = sum over k of weight[m, k] * x[c, k]
//
// One group for a tile of 64 rows m and 64 columns c; a thread sums 4 rows by 8 columns. For each
// unit of 32 weights, half of the threads decode a row's unit and half bring a column's part of x.
//
// Defines    GROUP_SIZE  128
//            FORMAT
// Dispatch   (M / 64, columns / 64, 1)

#include "bindings.glslh"
#include "product_params.glslh"

#include "dequant.glslh"

layout(local_size_x = GROUP_SIZE) in;

const uint TILE = 64u;

shared vec4 weight_tile[UNIT_WEIGHTS][TILE / 4u];
shared vec4 x_tile[UNIT_WEIGHTS][TILE / 4u];

void stage_weights(const uint row, const uint local_row, const uint u) {
	const uint n_units = params.width / UNIT_WEIGHTS;
	Unit unit;
	if (row < params.height) {
		unit = decode_unit(params.planes, row * n_units + u);
	}
	for (uint i = 0u; i < 8u; i++) {
		const vec4 w = row < params.height ? unit_weights(unit, i) : vec4(0.0);
		for (uint j = 0u; j < 4u; j++) {
			weight_tile[4u * i + j][local_row >> 2u][local_row & 3u] = w[j];
		}
	}
}

void stage_x(const uint column, const uint local_column, const uint u, const uint n_columns) {
	const uint x = (params.x + column * params.width + unit_column(u)) / 4u;
	for (uint i = 0u; i < 8u; i++) {
		const uint at = x + (i >> 2u) * (RUN_STEP / 4u) + (i & 3u);
		const vec4 values = column < n_columns ? work4[at] : vec4(0.0);
		for (uint j = 0u; j < 4u; j++) {
			x_tile[4u * i + j][local_column >> 2u][local_column & 3u] = values[j];
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
	for (uint u = 0u; u < params.width / UNIT_WEIGHTS; u++) {
		if (thread < TILE) {
			stage_weights(first_row + thread, thread, u);
		} else {
			stage_x(first_column + thread - TILE, thread - TILE, u, n_columns);
		}
		barrier();
		for (uint k = 0u; k < UNIT_WEIGHTS; k++) {
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
