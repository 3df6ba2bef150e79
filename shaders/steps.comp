// Runs fused steps for one token of one sequence: one step a dispatch, or, with all groups resident,
// many tokens in one dispatch, where groups read the steps from a buffer and meet at a grid barrier
// after each. Tokens are then picked as the state says, up to a stop. The logits of the last token stay in
// work.
//
// A product step makes its input, each group for itself, as 16-bit integers in shared memory; then
// the lanes of a subgroup share rows of the weights. An attention step rotates the new query and
// key, stores the new cell, and sums over parts of the cells, which the last group to come joins.
// Steps that differ only in where things lie are of one kind; each kind is code of its own, in which all
// sizes are constants. python/llm/gpu/steps/steps.py writes the kinds and packs the steps;
// python/llm/gpu/steps/fusion.py says what goes into which.
//
// Defines    GROUP_SIZE     16 subgroups
//            SUBGROUP_SIZE  threads; the driver must not choose another
//            HEAD_SIZE      a power of two, 8 * SUBGROUP_SIZE at most or a multiple of it
//            GROUP_HEADS    query heads of a key/value head, at most 14
//            INPUT_SIZE     values of the longest input
//            MODEL_WIDTH    values of the longest input that is normed
//            USE_F32, USE_F16, USE_Q5_0, USE_Q8_0, USE_Q4_K, USE_Q6_K: the formats of the weights
//            HAS_INTEGER_DOT
//            STEP_CASES     a case for each kind of step, from 1 on
// Dispatch   (groups that are resident together, or any number for a single step, 1, 1)

#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_shuffle : require

#define SHARED_BUFFER coherent
#define WEIGHT_ADDRESSES
#include "bindings.glslh"
#include "gate.glslh"
#include "integer_dot.glslh"
#include "state.glslh"
#include "weight_types.glslh"

layout(set = 0, binding = 8, std430) readonly buffer Steps {
	uint steps[];
};

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint n_steps;
	uint first; // step to run alone, or NONE
	uint n_tokens; // to decode
	uint spins; // looks at a barrier before giving up
	uint best; // offsets in floats: value and id for each group
	uint logits;
	uint vocabulary; // V, how many of them
	uint maxima; // for step_sample.glslh
	uint list;
	uint pad[3];
}
params;

const uint SUBGROUPS = GROUP_SIZE / SUBGROUP_SIZE;
const float LOWEST = -3.0e38;

#include "step_words.glslh"
#include "step_shared.glslh"
#include "grid_barrier.glslh"

#include "step_input.glslh"
#include "step_sample.glslh"
#include "step_product.glslh"
#include "step_attend.glslh"

// After a barrier behind the step that makes logits: the token at `position`, the same in every thread.
// NONE where the draw fails. False where a group did not come to a barrier in between.
bool pick_token(const uint position, const uint index, out uint token) {
	uint value = 0u;
	if (is_sampling()) {
		sample_list(params.logits, params.vocabulary, params.maxima, params.list);
		arrive();
		if (!all_arrived(params.spins)) {
			return false;
		}
		token = sample_draw(params.list, position);
	} else {
		const Best best = overall_best();
		token = best.id;
		value = floatBitsToUint(best.value);
	}
	if (gl_WorkGroupID.x == 0u && gl_LocalInvocationID.x == 0u) {
		state[STATE_PICK_IDS + index] = token;
		state[STATE_PICK_VALUES + index] = value;
		state[STATE_DECODED] = index + 1u;
	}
	return true;
}

void run_step(const uint token, const uint position) {
	switch (word(STEP_KIND)) {
		STEP_CASES
		default:
			break;
	}
}

void main() {
	if (gl_SubgroupSize != SUBGROUP_SIZE) {
		state[STATE_GAVE_UP] = 1u;
		return; // every group
	}
	uint token = state[STATE_TOKENS];
	uint position = state[STATE_POSITIONS];
	const bool is_alone = params.first != NONE;
	uint step = is_alone ? params.first : 0u;
	read_step(0u, step);
	read_step(1u, step + 1u < params.n_steps ? step + 1u : 0u);
	barrier();
	uint n_done = 0u;
	while (n_done < params.n_tokens) {
		run_step(token, position);
		if (is_alone) {
			return;
		}
		arrive();
		const bool is_last = step + 1u == params.n_steps;
		step = is_last ? 0u : step + 1u;
		next_step();
		if (gl_SubgroupID != 0u) {
			read_step(step_slot == 2u ? 0u : step_slot + 1u, step + 1u < params.n_steps ? step + 1u : 0u);
		}
		if (!all_arrived(params.spins)) {
			return; // the whole group
		}
		if (is_last) {
			position++;
			if (!pick_token(position, n_done, token) || token == NONE || is_stop(token)) {
				return; // every group
			}
			n_done++;
		}
	}
}
