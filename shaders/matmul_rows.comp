// y[c, m] = residual[c, m] + sum over k of weight[m, k] * x[c, k]
//
// One thread for ROWS rows m and COLUMNS columns c. All threads of a group read the same x at the
// same time, so that a driver which runs them as the lanes of a vector loads it once; there is no
// reduction and no barrier. For drivers that run on a CPU, with groups of one vector.
//
// Defines    GROUP_SIZE, FORMAT, ROWS, COLUMNS
//            EXPERTS  see product_columns.glslh; without it, all columns have the same weights
// Dispatch   (M / (GROUP_SIZE * ROWS), tiles of columns, 1)

#include "bindings.glslh"
#include "product_params.glslh"

#include "dequant.glslh"

layout(local_size_x = GROUP_SIZE) in;

void main() {
	const uint first_row = gl_WorkGroupID.x * (GROUP_SIZE * ROWS) + gl_LocalInvocationID.x;
	const ColumnTile columns = columns_of(gl_WorkGroupID.y, COLUMNS);
	if (columns.first >= columns.end) {
		return; // the whole group
	}

	// rows and columns past the last one compute the last one again
	const uint n_blocks = params.width / BLOCK_WEIGHTS;
	uint blocks[ROWS];
	uint x[COLUMNS];
	float sums[COLUMNS][ROWS];
	for (uint r = 0u; r < ROWS; r++) {
		const uint row = columns.weight_row + min(first_row + r * GROUP_SIZE, params.height - 1u);
		blocks[r] = row * n_blocks;
	}
	for (uint c = 0u; c < COLUMNS; c++) {
		x[c] = (params.x + row_of_x(min(columns.first + c, columns.end - 1u)) * params.width) / 4u;
		for (uint r = 0u; r < ROWS; r++) {
			sums[c][r] = 0.0;
		}
	}

	for (uint b = 0u; b < n_blocks; b++) {
		Block shared_bits[ROWS];
		for (uint r = 0u; r < ROWS; r++) {
			shared_bits[r] = load_block(params.planes, blocks[r] + b);
		}
		for (uint part = 0u; part < BLOCK_PARTS; part++) {
			const uint column = (b * BLOCK_WEIGHTS + part_column(part)) / 4u;
			Scales scales[ROWS];
			for (uint r = 0u; r < ROWS; r++) {
				scales[r] = part_scales(shared_bits[r], part);
			}
			for (uint i = 0u; i < 4u; i++) {
				Pair w[ROWS];
				for (uint r = 0u; r < ROWS; r++) {
					w[r] = load_weights(params.planes, blocks[r] + b, shared_bits[r], part, scales[r], i);
				}
				for (uint c = 0u; c < COLUMNS; c++) {
					const vec4 first = work4[x[c] + column + i];
					const vec4 second = work4[x[c] + column + RUN_STEP / 4u + i];
					for (uint r = 0u; r < ROWS; r++) {
						for (uint j = 0u; j < 4u; j++) {
							sums[c][r] = fma(w[r].first[j], first[j], sums[c][r]);
							sums[c][r] = fma(w[r].second[j], second[j], sums[c][r]);
						}
					}
				}
			}
		}
	}

	for (uint r = 0u; r < ROWS; r++) {
		const uint row = first_row + r * GROUP_SIZE;
		for (uint c = 0u; c < COLUMNS; c++) {
			if (row < params.height && columns.first + c < columns.end) {
				const uint at = row_of_y(columns.first + c) * params.height + row;
				work[params.y + at] = with_residual(at, sums[c][r]);
			}
		}
	}
}
