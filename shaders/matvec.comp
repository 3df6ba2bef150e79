// y[c, m] = sum over k of weight[m, k] * x[c, k], for at most COLUMNS columns c
//
// threads_per_row neighbouring threads share a row m, unit by unit, so that a group reads whole
// stretches of the weights. A weight is decoded once for all columns. Sums in float32.
//
// Defines    GROUP_SIZE, FORMAT, COLUMNS
// Dispatch   (M / (GROUP_SIZE / threads_per_row), 1, 1)

#include "bindings.glslh"
#include "product_params.glslh"

#include "dequant.glslh"

layout(local_size_x = GROUP_SIZE) in;

shared float partial[COLUMNS][GROUP_SIZE];

// The part of a unit in one column's sum; `x` is where its first run meets the column, in vectors.
float unit_dot(const Unit unit, const uint x) {
	vec4 sums[2];
	vec4 plain[2];
	for (uint run = 0u; run < 2u; run++) {
		sums[run] = vec4(0.0);
		plain[run] = vec4(0.0);
		for (uint i = 0u; i < 4u; i++) {
			const vec4 values = work4[x + run * (RUN_STEP / 4u) + i];
			sums[run] += unit.q[run * 4u + i] * values;
			plain[run] += values;
		}
	}
	const vec4 scaled = unit.scale.x * sums[0] + unit.scale.y * sums[1];
	const vec4 offsets = unit.offset.x * plain[0] + unit.offset.y * plain[1];
	const vec4 total = HAS_OFFSET ? scaled + offsets : scaled;
	return total.x + total.y + total.z + total.w;
}

void main() {
	const uint thread = gl_LocalInvocationID.x;
	const uint lane = thread & (params.threads_per_row - 1u);
	const uint local_row = thread / params.threads_per_row;
	const uint rows_per_group = GROUP_SIZE / params.threads_per_row;
	const uint row = gl_WorkGroupID.x * rows_per_group + local_row;
	const uint n_units = params.width / UNIT_WEIGHTS;
	const uint n_columns = min(state[params.count_at], COLUMNS);

	float sums[COLUMNS];
	for (uint c = 0u; c < COLUMNS; c++) {
		sums[c] = 0.0;
	}
	for (uint u = lane; u < n_units && row < params.height; u += params.threads_per_row) {
		const Unit unit = decode_unit(params.planes, row * n_units + u);
		const uint x = (params.x + unit_column(u)) / 4u;
		for (uint c = 0u; c < COLUMNS; c++) {
			if (c < n_columns) {
				sums[c] += unit_dot(unit, x + c * (params.width / 4u));
			}
		}
	}

	// turned round, so that the threads which add up read neighbouring words
	for (uint c = 0u; c < COLUMNS; c++) {
		partial[c][lane * rows_per_group + local_row] = sums[c];
	}
	barrier();
	for (uint i = thread; i < n_columns * rows_per_group; i += GROUP_SIZE) {
		const uint c = i / rows_per_group;
		const uint m = gl_WorkGroupID.x * rows_per_group + i % rows_per_group;
		float sum = 0.0;
		for (uint j = 0u; j < params.threads_per_row; j++) {
			sum += partial[c][j * rows_per_group + i % rows_per_group];
		}
		if (m < params.height) {
			work[params.y + c * params.height + m] = sum;
		}
	}
}
