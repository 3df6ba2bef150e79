// 1 goes to the state's first pick where subgroups are of eight, load neighbouring values through
// addresses and pass values among them rightly, else 0.
//
// Defines    GROUP_SIZE  8
//            WEIGHT_ADDRESSES
// Dispatch   (1, 1, 1)

#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

#include "bindings.glslh"
#include "state.glslh"

#include "lanes.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uvec2 values; // address of 8 floats i + 0.5, 8 float16 -i, 8 bytes 250 - 11 * i
	uint pad_1;
	uint pad_2;
}
params;

void main() {
	const uint i = gl_LocalInvocationID.x;
	bool is_right = gl_SubgroupSize == LANES && gl_SubgroupInvocationID == i;
	is_right = is_right && lane_float(FloatRun(params.values)) == float(i) + 0.5;
	is_right = is_right && lane_half(HalfRun(params.values) + 2u) == -float(i);
	is_right = is_right && uint(lane_byte(ByteRun(params.values) + 6u)) == 250u - 11u * i;
	is_right = is_right && subgroupShuffleXor(i, 4u) == (i ^ 4u) && subgroupShuffle(i, 3u) == 3u;
	const uint n_right = subgroupAdd(is_right ? 1u : 0u);
	if (i == 0u) {
		state[STATE_PICK_IDS] = n_right == LANES ? 1u : 0u;
	}
}
