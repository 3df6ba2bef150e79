// y[c, m] = sum over k of weight[m, k] * x[c, k], for at most COLUMNS columns c
//
// One thread for each row m. All threads read the same x at the same time, so a processor that runs
// them as lanes of a vector loads it once; there is no reduction. For drivers that run on a CPU.
//
// Defines    GROUP_SIZE, FORMAT, COLUMNS
// Dispatch   (M / GROUP_SIZE, columns / COLUMNS, 1)

#include "bindings.glslh"
#include "product_params.glslh"

#include "dequant.glslh"

layout(local_size_x = GROUP_SIZE) in;

void main() {
	const uint row = gl_GlobalInvocationID.x;
	const uint first = gl_WorkGroupID.y * COLUMNS;
	const uint n_columns = state[params.count_at];
	if (row >= params.height || first >= n_columns) {
		return;
	}
	// columns past the last one compute the last one again
	uint x[COLUMNS];
	vec4 sums[COLUMNS];
	for (uint c = 0u; c < COLUMNS; c++) {
		x[c] = (params.x + min(first + c, n_columns - 1u) * params.width) / 4u;
		sums[c] = vec4(0.0);
	}

	const uint n_units = params.width / UNIT_WEIGHTS;
	for (uint u = 0u; u < n_units; u++) {
		const Unit unit = decode_unit(params.planes, row * n_units + u);
		const uint column = unit_column(u) / 4u;
		for (uint i = 0u; i < 8u; i++) {
			const vec4 w = unit_weights(unit, i);
			const uint at = column + (i >> 2u) * (RUN_STEP / 4u) + (i & 3u);
			for (uint c = 0u; c < COLUMNS; c++) {
				sums[c] += w * work4[x[c] + at];
			}
		}
	}

	for (uint c = 0u; c < COLUMNS; c++) {
		if (first + c < n_columns) {
			const uint y = params.y + (first + c) * params.height + row;
			work[y] = sums[c].x + sums[c].y + sums[c].z + sums[c].w;
		}
	}
}
