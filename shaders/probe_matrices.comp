// 1 goes to the state's first pick where a subgroup of GROUP_SIZE threads multiplies cooperative
// matrices rightly, else 0. Small whole numbers, so that every right sum is exact.
//
// Defines    GROUP_SIZE
// Dispatch   (1, 1, 1)

#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

const uint SIZE = 16u;
const uint QUADS = SIZE / 8u; // of a row of float16
const uint SUM_QUADS = SIZE / 4u; // of a column of float32

shared uvec4 a_rows[SIZE * QUADS];
shared uvec4 b_columns[SIZE * QUADS];
shared uvec4 sum_columns[SIZE * SUM_QUADS];
shared float factors[SIZE]; // of rows

float a_at(const uint row, const uint k) {
	return float((row * 5u + k * 3u) % 7u) - 3.0;
}

float factor_at(const uint row) {
	return float(row % 5u) + 1.0;
}

float b_at(const uint k, const uint column) {
	return float((k * 2u + column * 9u) % 11u) - 5.0;
}

void main() {
	const uint lane = gl_LocalInvocationID.x;
	for (uint i = lane; i < SIZE * QUADS; i += GROUP_SIZE) {
		const uint line = i / QUADS, k = i % QUADS * 8u;
		for (uint j = 0u; j < 4u; j++) {
			a_rows[i][j] = packHalf2x16(vec2(a_at(line, k + 2u * j), a_at(line, k + 2u * j + 1u)));
			b_columns[i][j] = packHalf2x16(vec2(b_at(k + 2u * j, line), b_at(k + 2u * j + 1u, line)));
		}
	}
	for (uint i = lane; i < SIZE; i += GROUP_SIZE) {
		factors[i] = factor_at(i);
	}
	barrier();
	coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;
	coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b;
	coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> factor;
	coopMatLoad(factor, factors, 0u, 0u, gl_CooperativeMatrixLayoutColumnMajor); // one for all columns
	coopMatLoad(a, a_rows, 0u, QUADS, gl_CooperativeMatrixLayoutRowMajor);
	coopMatLoad(b, b_columns, 0u, QUADS, gl_CooperativeMatrixLayoutColumnMajor);
	const coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum =
			factor * coopMatMulAdd(a, b, factor);
	coopMatStore(sum, sum_columns, 0u, SUM_QUADS, gl_CooperativeMatrixLayoutColumnMajor);
	barrier();

	bool is_right = gl_SubgroupSize == GROUP_SIZE && gl_NumSubgroups == 1u;
	for (uint i = lane; i < SIZE * SIZE; i += GROUP_SIZE) {
		const uint row = i % SIZE, column = i / SIZE;
		float expected = factor_at(row);
		for (uint k = 0u; k < SIZE; k++) {
			expected += a_at(row, k) * b_at(k, column);
		}
		is_right = is_right && uintBitsToFloat(sum_columns[i / 4u][i % 4u]) == factor_at(row) * expected;
	}
	const bool all_right = subgroupAll(is_right);
	if (lane == 0u) {
		state[STATE_PICK_IDS] = all_right ? 1u : 0u;
	}
}
