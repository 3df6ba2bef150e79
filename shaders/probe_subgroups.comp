// The size of a subgroup goes to the state's first pick, or 0 where subgroups do not sum up rightly.
//
// Defines    GROUP_SIZE
// Dispatch   (1, 1, 1)

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

void main() {
	const uint lanes = subgroupAdd(1u);
	const uint sum = subgroupAdd(gl_SubgroupInvocationID);
	const bool is_right = lanes == gl_SubgroupSize && sum == lanes * (lanes - 1u) / 2u &&
			gl_NumSubgroups * lanes == GROUP_SIZE;
	if (gl_LocalInvocationID.x == 0u) {
		state[STATE_PICK_IDS] = is_right ? lanes : 0u;
	}
}
