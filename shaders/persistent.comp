// Decodes tokens of one sequence, greedily, in one dispatch: groups stay resident, read a list of
// steps from a buffer, and meet at a grid barrier after each. The logits of the last token stay in
// work, so that one token can also be drawn another way.
//
// A product step makes its input vector, each group for itself, in shared memory; then a subgroup
// multiplies a few rows at a time. An attention step rotates the new query and key, stores the new
// cell, and leaves sums over parts of the cells, which the product after it joins.
// python/llm/gpu/steps.py packs the steps; python/llm/gpu/fusion.py says what goes into which.
//
// Defines    GROUP_SIZE     16 subgroups
//            SUBGROUP_SIZE  threads; the driver must not choose another
//            HEAD_SIZE      a multiple of 2 * SUBGROUP_SIZE
//            GROUP_HEADS    query heads of a key/value head, fewer than 16
//            VECTOR_SIZE    floats: of the longest input, and at least 16 * HEAD_SIZE
//            USE_F32, USE_F16, USE_Q5_0, USE_Q8_0, USE_Q4_K, USE_Q6_K: the formats of the weights
// Dispatch   (groups that are resident together, 1, 1)

#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

#define SHARED_BUFFER coherent
#include "bindings.glslh"
#include "state.glslh"

layout(set = 0, binding = 8, std430) readonly buffer Steps {
	uint steps[];
};

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint n_steps;
	uint n_tokens; // to decode
	uint best; // offset in floats: value and id for each group
	uint spins; // looks at a barrier before giving up
}
params;

const uint SUBGROUPS = GROUP_SIZE / SUBGROUP_SIZE;
const uint THREAD_VECTORS = (VECTOR_SIZE / 4u + GROUP_SIZE - 1u) / GROUP_SIZE;
const float LOWEST = -3.0e38;

shared vec4 vector[VECTOR_SIZE / 4u];
shared float subgroup_sums[2][SUBGROUPS];

#include "step_words.glslh"
#include "grid_barrier.glslh"

shared uint step_words[2][STEP_WORDS]; // of the current step and of the next
uint step_side = 0u;

uint word(const uint field) {
	return step_words[step_side][field];
}

// By threads of another subgroup than the one that waits at a barrier.
void prefetch_step(const uint step) {
	const uint lane = gl_LocalInvocationID.x - SUBGROUP_SIZE;
	if (lane < STEP_WORDS) {
		step_words[1u - step_side][lane] = steps[step * STEP_WORDS + lane];
	}
}

// The sum over the group, to every thread. Sums one after the other take turns at the two slots.
float group_sum(const float value, const uint slot) {
	const float sum = subgroupAdd(value);
	if (gl_SubgroupInvocationID == 0u) {
		subgroup_sums[slot][gl_SubgroupID] = sum;
	}
	barrier();
	float total = 0.0;
	[[unroll]] for (uint i = 0u; i < SUBGROUPS; i++) {
		total += subgroup_sums[slot][i];
	}
	return total;
}

#include "row_formats.glslh"
#include "step_attend.glslh"
#include "step_product.glslh"

void main() {
	if (gl_SubgroupSize != SUBGROUP_SIZE) {
		state[STATE_GAVE_UP] = 1u;
		return; // every group
	}
	uint token = state[STATE_TOKENS];
	uint position = state[STATE_POSITIONS];
	prefetch_step(0u);
	barrier();
	step_side = 1u;
	for (uint t = 0u; t < params.n_tokens; t++) {
		for (uint s = 0u; s < params.n_steps; s++) {
			if (word(STEP_KIND) == STEP_PRODUCT) {
				run_product(token, position);
			} else if (word(STEP_KIND) == STEP_ATTEND) {
				run_attend(position);
			}
			arrive(params.spins);
			prefetch_step(s + 1u < params.n_steps ? s + 1u : 0u);
			if (!all_arrived()) {
				return; // the whole group
			}
			step_side = 1u - step_side;
		}
		const Best best = overall_best();
		token = best.id;
		position++;
		if (gl_WorkGroupID.x == 0u && gl_LocalInvocationID.x == 0u) {
			state[STATE_PICK_IDS + t] = best.id;
			state[STATE_PICK_VALUES + t] = floatBitsToUint(best.value);
		}
	}
}
