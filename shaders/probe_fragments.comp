// 1 goes to the state's first pick where the lanes of a subgroup have the elements of matrices that
// matrix_fragments.glslh says, else 0. Small whole numbers, so that every right sum is exact.
//
// Defines    GROUP_SIZE     a subgroup
//            SUBGROUP_SIZE  the same
// Dispatch   (1, 1, 1)

#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require

#include "bindings.glslh"
#include "matrix_fragments.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

const uint K = 16u;

float left_at(const uint row, const uint k) {
	return float((row * 5u + k * 3u) % 7u) - 3.0;
}

float right_at(const uint k, const uint column) {
	return float((k * 2u + column * 9u) % 11u) - 5.0;
}

float start_at(const uint row, const uint column) {
	return float(row * 8u + column);
}

void main() {
	const uint row = gl_SubgroupInvocationID / 4u; // of LEFT and SUM; also the column of RIGHT
	const uint pair = gl_SubgroupInvocationID % 4u * 2u;
	f16vec2 upper[2];
	f16vec2 lower[2];
	f16vec2 column[2];
	[[unroll]] for (uint h = 0u; h < 2u; h++) {
		const uint k = pair + 8u * h;
		upper[h] = f16vec2(left_at(row, k), left_at(row, k + 1u));
		lower[h] = f16vec2(left_at(row + 8u, k), left_at(row + 8u, k + 1u));
		column[h] = f16vec2(right_at(k, row), right_at(k + 1u, row));
	}
	SUM sum;
	[[unroll]] for (uint i = 0u; i < 4u; i++) {
		sum[i] = start_at(row + i / 2u * 8u, pair + i % 2u);
	}
	sum = coopMatMulAdd(left_of(upper, lower), right_of(column), sum);

	bool is_right = gl_SubgroupSize == SUBGROUP_SIZE && gl_NumSubgroups == 1u;
	[[unroll]] for (uint i = 0u; i < 4u; i++) {
		const uint own_row = row + i / 2u * 8u;
		const uint own_column = pair + i % 2u;
		float expected = start_at(own_row, own_column);
		for (uint k = 0u; k < K; k++) {
			expected += left_at(own_row, k) * right_at(k, own_column);
		}
		is_right = is_right && sum[i] == expected;
	}
	const bool all_right = subgroupAll(is_right);
	if (gl_LocalInvocationID.x == 0u) {
		state[STATE_PICK_IDS] = all_right ? 1u : 0u;
	}
}
