#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

// Decodes tokens of one sequence in one dispatch: groups stay resident, read a list of steps from a
// buffer, and meet at a grid barrier after each. python/llm/gpu/steps.py packs the list.
//
// A product step makes its input vector (each group for itself, in shared memory), then a subgroup
// takes ROWS_AT_ONCE rows at a time. An attention step rotates the new query and key, stores the new
// cell, and leaves partial sums of a part of the cells, which the product after it joins.
//
// Defines    GROUP_SIZE, SUBGROUP_SIZE, HEAD_SIZE, GROUP_HEADS (query heads a key/value head),
//            ROWS_AT_ONCE, SPIN_LIMIT
// Dispatch   (groups that are resident together, 1, 1)

#include "bindings.glslh"
#include "state.glslh"

layout(set = 0, binding = 8, std430) readonly buffer Steps {
	uint steps[];
};
layout(set = 0, binding = 9, std430) buffer Sync {
	uint sync[];
};

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint n_steps;
	uint n_tokens; // to decode, at most
	uint best; // in floats: (value, id) of each group
	uint pad;
}
params;

const uint SUBGROUPS = GROUP_SIZE / SUBGROUP_SIZE;
const uint MAX_VECTOR = 8192u; // floats; longer inputs are read where they lie
const float LOWEST = -3.0e38;

#include "step_words.glslh"
#include "grid_barrier.glslh"

shared vec4 vector[MAX_VECTOR / 4u];
shared float subgroup_values[SUBGROUPS];

uint vector_offset; // in vectors of work, or NONE: it is in shared memory

vec4 vector_in(const uint i) {
	return vector_offset == NONE ? vector[i] : work4[vector_offset + i];
}

#include "row_formats.glslh"

uint step_at; // first word of the current step

uint word(const uint field) {
	return steps[step_at + field];
}

// The sum over the group, to every thread.
float group_total(const float value) {
	const float sum = subgroupAdd(value);
	barrier();
	if (gl_SubgroupInvocationID == 0u) {
		subgroup_values[gl_SubgroupID] = sum;
	}
	barrier();
	float total = 0.0;
	for (uint i = 0u; i < SUBGROUPS; i++) {
		total += subgroup_values[i];
	}
	return total;
}

#include "step_product.glslh"
#include "step_attend.glslh"

void main() {
	uint token = state[STATE_TOKENS];
	uint position = state[STATE_POSITIONS];
	for (uint t = 0u; t < params.n_tokens; t++) {
		Best best = Best(LOWEST, NONE, 0u);
		for (uint s = 0u; s < params.n_steps; s++) {
			step_at = s * STEP_WORDS;
			if (word(STEP_KIND) == STEP_PRODUCT) {
				run_product(token, best);
			} else {
				run_attend(position);
			}
			if (!grid_barrier()) {
				return;
			}
		}
		if (word(STEP_EPILOGUE) == EPILOGUE_BEST) {
			token = overall_best();
			position++;
			if (gl_WorkGroupID.x == 0u && gl_LocalInvocationID.x == 0u) {
				state[STATE_PICK_IDS + t] = token;
			}
		}
	}
}
