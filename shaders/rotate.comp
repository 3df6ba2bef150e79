// In place on x[r, h, :]: RMS norm over D where there is a norm weight, rotary embedding at the
// row's position, then times `scale`, and where rotated times `magnitude`; by
// temperature_rate * ln(1 + floor(position / temperature_length)) more of it.
//
// Rotation turns pair i by position * table[i] turns: of the first `turned` values those at i and
// i + turned/2, or those at 2i and 2i + 1. Values after them are not rotated. One group for a head of
// a row. Source: Su et al. 2021, RoFormer.
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
	uint turned; // at most D, even
	uint pairing;
	uint x; // offset in floats
	uint stride; // floats from row to row
	float eps;
	float scale;
	float magnitude; // of rotated values
	float temperature_rate; // or 0
	uint temperature_length; // positions
	uint pad_1;
	uint pad_2;
	uint pad_3;
}
params;

const uint PAIRING_ADJACENT = 1u; // python/llm/gpu/operations/attention.py has the same number

// A value of the head at float `x`, normalised and scaled.
float scaled(const uint x, const uint i, const float scale) {
	const float weight = params.norm == NONE ? 1.0 : uintBitsToFloat(weights[params.norm + i]);
	return scale * work[x + i] * weight;
}

void main() {
	const uint head = gl_WorkGroupID.x;
	const uint row = gl_WorkGroupID.y;
	if (row >= state[STATE_ROWS]) {
		return; // the whole group
	}
	const uint pairs = params.turned / 2u;
	const uint x = params.x + row * params.stride + head * params.head_size;
	const uint position = state[STATE_POSITIONS + row];

	float scale = params.scale;
	if (params.temperature_rate != 0.0) {
		scale *= 1.0 + params.temperature_rate * log(float(1u + position / params.temperature_length));
	}
	if (params.norm != NONE) {
		float squares = 0.0;
		for (uint i = gl_LocalInvocationID.x; i < params.head_size; i += GROUP_SIZE) {
			squares += work[x + i] * work[x + i];
		}
		scale /= sqrt(group_sum(squares) / float(params.head_size) + params.eps);
	}

	for (uint i = gl_LocalInvocationID.x; i < pairs; i += GROUP_SIZE) {
		const bool is_adjacent = params.pairing == PAIRING_ADJACENT;
		const uint first = is_adjacent ? 2u * i : i;
		const uint second = is_adjacent ? first + 1u : pairs + i;
		const vec2 pair = vec2(scaled(x, first, scale), scaled(x, second, scale));
		const uint entry = params.table + 2u * i;
		const vec2 per_position = uintBitsToFloat(uvec2(weights[entry], weights[entry + 1u]));
		const vec2 turn = params.magnitude * cos_sin_turns(position_turns(position, per_position));
		work[x + first] = pair.x * turn.x - pair.y * turn.y;
		work[x + second] = pair.x * turn.y + pair.y * turn.x;
	}
	for (uint i = params.turned + gl_LocalInvocationID.x; i < params.head_size; i += GROUP_SIZE) {
		work[x + i] = scaled(x, i, scale);
	}
}
