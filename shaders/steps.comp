// Runs fused steps for one token of one sequence: one step a dispatch, or, with all groups resident,
// many tokens in one dispatch, where groups read the steps from a buffer and meet at a grid barrier
// after each. The last steps then pick the next token, up to a stop. The logits of the last token stay
// in work.
//
// A product step makes its input, each group for itself, as 16-bit integers in shared memory; then
// the lanes of a subgroup share rows of the weights. An attention step rotates the new query and
// key, stores the new cell, and sums over the cells, or over a part of them; then a step joins the parts.
// Steps that differ only in where things lie are of one kind; each kind is code of its own, in which all
// sizes are constants. python/llm/gpu/steps/steps.py writes the kinds and packs the steps;
// python/llm/gpu/steps/fusion.py says what goes into which.
//
// Defines    GROUP_SIZE     16 subgroups
//            SUBGROUP_SIZE  threads; the driver must not choose another
//            HEADS          sizes of the heads: shader_source.py puts in what they need. Powers of two, 8 * SUBGROUP_SIZE
//                           at most or a multiple of it; LARGEST_HEAD is one
//            TOGETHER       of the query heads of a key/value head, how many a group attends for at most
//            LANE_CELLS     cells of a tile that a lane loads, at most
//            PAGES          of the longest sequence, or more
//            INPUT_SIZE     values of the longest input
//            MODEL_WIDTH    values of the longest input that is normed
//            FORMATS        of the weights: shader_source.py puts in what they need
//            EXPERTS        where the model has some, how many a layer has; USED_EXPERTS: how many a token uses
//            EXPERT_ROWS    formats and sizes of their matrices: see step_some_rows.glslh
//            SLICES         formats, widths and first columns of matrices that several steps share
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

#define SHARED_BUFFER coherent volatile // looked at again and again
#define SHARED_CELLS coherent
#define WEIGHT_ADDRESSES
#include "bindings.glslh"
#include "gate.glslh"
#include "integer_dot.glslh"
#include "state.glslh"
#include "shared_pages.glslh"
#include "soft_cap.glslh"
#include "weight_types.glslh"

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
	uint places; // with tags: the first float, and how many
	uint n_places;
	uint part_places; // the same, of parts of cells
	uint n_part_places;
	uint pad_1;
	uint pad_2;
	uint pad_3;
}
params;

const uint SUBGROUPS = GROUP_SIZE / SUBGROUP_SIZE;
const float LOWEST = -3.0e38;

uint token; // that the steps run for; these are the same in every thread
uint position;
uint n_decoded = 0u; // tokens of this dispatch

#include "step_words.glslh"
#include "step_shared.glslh"
#include "grid_barrier.glslh"
#include "step_tags.glslh"

#include "step_ahead.glslh"
#include "step_input.glslh"
#include "step_sample.glslh"
#include "step_product.glslh"
#include "step_attend.glslh"
#include "step_pick.glslh"

void run_step() {
	switch (word(STEP_KIND)) {
		STEP_CASES
		default:
			break;
	}
}

void clear_floats(const uint first, const uint count) {
	for (uint i = gl_GlobalInvocationID.x; i < count; i += GROUP_SIZE * gl_NumWorkGroups.x) {
		work[first + i] = 0.0;
	}
}

// All groups but those that give up go on, with all tags at 0.
bool clear_places() {
	clear_floats(params.places, params.n_places);
	clear_floats(params.part_places, params.n_part_places);
	arrive();
	return all_arrived(params.spins);
}

void main() {
	if (gl_SubgroupSize != SUBGROUP_SIZE) {
		state[STATE_GAVE_UP] = 1u;
	}
	token = state[STATE_TOKENS];
	position = state[STATE_POSITIONS];
	const bool is_alone = params.first != NONE;
	uint step = is_alone ? params.first : 0u;
	load_pages();
	read_step(0u, step);
	read_step(1u, step + 1u < params.n_steps ? step + 1u : 0u);
	if (gl_LocalInvocationID.x == 0u) {
		has_stopped = 0u; // lists of steps without a pick go on
		next_token = token;
	}
	barrier();
	looks_left = params.spins;
	bool goes_on = gl_SubgroupSize == SUBGROUP_SIZE; // the same in all groups, but where one gave up
	if (params.n_places > 0u) {
		goes_on = clear_places() && goes_on;
	}
	while (goes_on) {
		run_step();
		load_first_lines();
		if (is_alone) {
			goes_on = false;
		} else {
			const bool is_meeting = word(STEP_STAYS) == 0u;
			if (is_meeting) {
				arrive();
			} else {
				barrier();
			}
			const bool is_last = step + 1u == params.n_steps;
			step = is_last ? 0u : step + 1u;
			next_step();
			if (gl_SubgroupID != 0u) {
				read_step(step_slot == 2u ? 0u : step_slot + 1u, step + 1u < params.n_steps ? step + 1u : 0u);
			}
			if (is_meeting) {
				goes_on = all_arrived(params.spins);
			}
			if (is_last) {
				position++;
				n_decoded++;
				token = next_token;
				goes_on = goes_on && has_stopped == 0u && n_decoded < params.n_tokens;
			}
		}
	}
	keep_loads();
}
