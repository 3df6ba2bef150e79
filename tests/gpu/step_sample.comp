// Draws tokens by step_sample.glslh. Phases can be dispatches of their own, which stand for the grid
// barriers between them; or one group runs all of them, token after token.
//
// Defines    GROUP_SIZE, SUBGROUP_SIZE
// Dispatch   (any, 1, 1)

#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

#define SHARED_BUFFER coherent
#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint logits; // offsets in floats: the first row
	uint maxima;
	uint list;
	uint tokens; // that were drawn: n_draws for each group; and after each, whether it is a stop
	uint sums; // of the last draw: SAMPLE_MOST at temperature 1, then as many at the wanted one
	uint vocabulary;
	uint phases; // bits: maxima, list, draw
	uint position;
	uint n_draws; // from row after row where all phases run, else from the list that is there
	uint pad[3];
}
params;

#include "step_sample.glslh"

void wait_for_group() {
	memoryBarrierBuffer();
	barrier();
}

void main() {
	const bool has_all = params.phases == 7u;
	for (uint i = 0u; i < params.n_draws; i++) {
		const uint logits = params.logits + (has_all ? i * params.vocabulary : 0u);
		if ((params.phases & 1u) != 0u) {
			sample_maxima(logits, params.vocabulary, params.maxima);
			wait_for_group();
		}
		if ((params.phases & 2u) != 0u) {
			sample_list(logits, params.vocabulary, params.maxima, params.list);
			wait_for_group();
		}
		if ((params.phases & 4u) != 0u) {
			if (!has_all) {
				samples_before = 0u;
			}
			const uint token = sample_draw(params.list, params.position + i);
			const bool ends = is_stop(token);
			// Every thread has the token; the last one tells.
			if (gl_LocalInvocationID.x == GROUP_SIZE - 1u) {
				const uint at = params.tokens + 2u * (gl_WorkGroupID.x * params.n_draws + i);
				work_bits[at] = token;
				work_bits[at + 1u] = ends ? 1u : 0u;
			}
			if (gl_WorkGroupID.x == 0u && sample_slot() < SAMPLE_MOST) {
				work[params.sums + sample_slot()] = sample_sums[0][sample_slot()].x;
				work[params.sums + SAMPLE_MOST + sample_slot()] = sample_sums[0][sample_slot()].y;
			}
			wait_for_group();
		}
	}
}
