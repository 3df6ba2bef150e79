// In place on x[r, h, :]: RMS norm over D where there is a norm weight, rotary embedding at the
// row's position, then times `scale`.
//
// Rotation turns each pair (i, i + D/2) by position * table[i] turns. One group for a head of a row.
// Source: Su et al. 2021, RoFormer; the pairing is GPT-NeoX's.
//
// Defines    GROUP_SIZE
// Dispatch   (heads, rows, 1)

#include "bindings.glslh"
#include "state.glslh"

#include "reduce.glslh"
#include "turns.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint norm; // float32 weight, in words, or NONE
	uint table; // two floats a pair, whose sum is the turns a position makes; in words
	uint heads;
	uint head_size; // D
	uint x; // offset in floats
	uint stride; // floats from row to row
	float eps;
	float scale;
}
params;

void main() {
	const uint head = gl_WorkGroupID.x;
	const uint row = gl_WorkGroupID.y;
	if (row >= state[STATE_ROWS]) {
		return; // the whole group
	}
	const uint pairs = params.head_size / 2u;
	const uint x = params.x + row * params.stride + head * params.head_size;
	const uint position = state[STATE_POSITIONS + row];

	float scale = params.scale;
	if (params.norm != NONE) {
		float squares = 0.0;
		for (uint i = gl_LocalInvocationID.x; i < params.head_size; i += GROUP_SIZE) {
			squares += work[x + i] * work[x + i];
		}
		scale /= sqrt(group_sum(squares) / float(params.head_size) + params.eps);
	}

	for (uint i = gl_LocalInvocationID.x; i < pairs; i += GROUP_SIZE) {
		vec2 pair = scale * vec2(work[x + i], work[x + pairs + i]);
		if (params.norm != NONE) {
			pair.x *= uintBitsToFloat(weights[params.norm + i]);
			pair.y *= uintBitsToFloat(weights[params.norm + pairs + i]);
		}
		const uint entry = params.table + 2u * i;
		const vec2 per_position = uintBitsToFloat(uvec2(weights[entry], weights[entry + 1u]));
		const vec2 turn = cos_sin_turns(position_turns(position, per_position));
		work[x + i] = pair.x * turn.x - pair.y * turn.y;
		work[x + pairs + i] = pair.x * turn.y + pair.y * turn.x;
	}
}
