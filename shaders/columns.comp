// Runs the layers of a model for a pass of up to COLUMNS tokens in one dispatch, a step after the other, where all
// groups are resident and meet at a grid barrier after each.
//
// A product keeps x of all tokens in registers and streams the weights past it, by cooperative matrices
// whose elements the lanes put in place. In attention a group has some query heads of a token. Steps are
// read from a buffer; python/llm/gpu/columns/steps.py packs them.
//
// Defines    GROUP_SIZE     16 subgroups
//            SUBGROUP_SIZE  32; the driver must not choose another
//            COLUMNS        8 or 16
//            SLICE_STEPS    of 128 k, the most that a team of lanes keeps of a column
//            HEAD_SIZE      a power of two, 8 * SUBGROUP_SIZE at most or a multiple of it; LARGEST_HEAD is the same
//            GROUP_HEADS    query heads of a key/value head
//            TOGETHER       of these, how many a group attends for
//            LANE_CELLS     cells of a tile that a lane loads, at most
//            FORMATS        of the weights: shader_source.py puts in what they need
//            PRODUCT_CASES  a case for each of them
// Dispatch   (groups that are resident together, or any number for a single step, 1, 1)

#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_shuffle : require

// Of a team of lanes, whose matrices these are.
#define LANE gl_SubgroupInvocationID
#define TEAM gl_SubgroupID

#define SHARED_BUFFER coherent volatile // what groups tell each other in one dispatch
#define SHARED_CELLS coherent
#define WEIGHT_ADDRESSES
#include "bindings.glslh"
#include "gate.glslh"
#include "matrix_fragments.glslh"
#include "soft_cap.glslh"
#include "state.glslh"
#include "pages.glslh"
#include "weight_types.glslh"
#include "eight_halves.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint first; // step
	uint end; // after the last one
	uint spins; // looks at a barrier before giving up
	uint pad_1;
}
params;

const uint SUBGROUPS = GROUP_SIZE / SUBGROUP_SIZE;
const float LOWEST = -3.0e38;

uint n_columns; // tokens of this pass

#include "column_words.glslh"
#include "step_table.glslh"
#include "group_sums.glslh"
#include "grid_barrier.glslh"
#include "column_product.glslh"
#include "column_add.glslh"
#include "column_attend.glslh"

void run_step() {
	const bool is_others = gl_WorkGroupID.x - word(STEP_FIRST_GROUP) >= word(STEP_GROUPS);
	switch (is_others ? KIND_NOTHING : word(STEP_KIND)) {
		case KIND_ADD:
			add_parts();
			break;
		case KIND_GATE:
			gate_columns();
			break;
		case KIND_ROTATE:
			rotate_heads();
			break;
		case KIND_ATTEND:
			attend_columns();
			break;
			PRODUCT_CASES
		default:
			break;
	}
}

void main() {
	n_columns = state[STATE_ROWS];
	bool goes_on = gl_SubgroupSize == SUBGROUP_SIZE;
	if (!goes_on) {
		state[STATE_GAVE_UP] = 1u;
	}
	const uint last = params.end - 1u;
	read_step(0u, params.first);
	read_step(1u, min(params.first + 1u, last));
	barrier();
	for (uint step = params.first; step < params.end && goes_on; step++) {
		run_step();
		const bool is_meeting = word(STEP_STAYS) == 0u && step != last;
		if (is_meeting) {
			arrive();
		} else {
			barrier();
		}
		next_step();
		if (gl_SubgroupID != 0u) {
			read_step(step_slot == 2u ? 0u : step_slot + 1u, min(step + 2u, last));
		}
		if (is_meeting) {
			goes_on = all_arrived(params.spins);
		} else {
			barrier();
		}
	}
}
