// y[c, m] = residual[c, m] + sum over k of weight[m, k] * x[c, k], for at most COLUMNS columns c
//
// threads_per_row neighbouring threads share a row m, part by part, so that a group reads whole
// stretches of the weights. A weight is decoded once for all columns. Sums in float32.
//
// Defines    GROUP_SIZE, FORMAT, COLUMNS
//            EXPERTS  see product_columns.glslh; without it, all columns have the same weights
// Dispatch   (M / (GROUP_SIZE / threads_per_row), tiles of columns, 1)

#include "bindings.glslh"
#include "product_params.glslh"

#include "dequant.glslh"

layout(local_size_x = GROUP_SIZE) in;

shared float partial[COLUMNS][GROUP_SIZE];

// What one part adds to the sum of a column; `x` is where the part meets the column, in vectors.
float part_dot(const vec4 first[4], const vec4 second[4], const Scales scales, const uint x) {
	vec4 sums[2] = vec4[2](vec4(0.0), vec4(0.0));
	vec4 plain[2] = vec4[2](vec4(0.0), vec4(0.0));
	for (uint i = 0u; i < 4u; i++) {
		const vec4 near = work4[x + i];
		const vec4 far = work4[x + RUN_STEP / 4u + i];
		sums[0] += first[i] * near;
		sums[1] += second[i] * far;
		plain[0] += near;
		plain[1] += far;
	}
	vec4 total = scales.scale.x * sums[0] + scales.scale.y * sums[1];
	if (HAS_OFFSET) {
		total += scales.offset.x * plain[0] + scales.offset.y * plain[1];
	}
	return total.x + total.y + total.z + total.w;
}

void main() {
	const ColumnTile columns = columns_of(gl_WorkGroupID.y, COLUMNS);
#ifdef EXPERTS
	if (columns.first >= columns.end) {
		return; // the whole group
	}
#endif
	const uint thread = gl_LocalInvocationID.x;
	const uint lane = thread & (params.threads_per_row - 1u);
	const uint local_row = thread / params.threads_per_row;
	const uint rows_per_group = GROUP_SIZE / params.threads_per_row;
	const uint row = gl_WorkGroupID.x * rows_per_group + local_row;
	const uint n_parts = params.width / PART_WEIGHTS;
	const uint n_columns = min(columns.end - columns.first, COLUMNS);

	float sums[COLUMNS];
	for (uint c = 0u; c < COLUMNS; c++) {
		sums[c] = 0.0;
	}
	for (uint p = lane; p < n_parts && row < params.height; p += params.threads_per_row) {
		const uint block = ((columns.weight_row + row) * n_parts + p) / BLOCK_PARTS;
		const uint part = p % BLOCK_PARTS;
		const Block shared_bits = load_block(params.planes, block);
		const Scales scales = part_scales(shared_bits, part);
		vec4 first[4];
		vec4 second[4];
		for (uint i = 0u; i < 4u; i++) {
			const Pair pair = load_pair(params.planes, block, shared_bits, part, i);
			first[i] = pair.first;
			second[i] = pair.second;
		}
		const uint x = (params.x + (p - part) * PART_WEIGHTS + part_column(part)) / 4u;
		for (uint c = 0u; c < COLUMNS; c++) {
			if (c < n_columns) {
				sums[c] += part_dot(first, second, scales, x + row_of_x(columns.first + c) * (params.width / 4u));
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
			const uint at = row_of_y(columns.first + c) * params.height + m;
			work[params.y + at] = with_residual(at, sum);
		}
	}
}
