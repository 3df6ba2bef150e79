// Keys and values of row r go, as float16, to the cell of its position in the pages of
// its sequence.
//
// One thread for a word, two values of a row.
//
// Defines    GROUP_SIZE
// Dispatch   (width / 2 / GROUP_SIZE, rows, 1)

#include "bindings.glslh"
#include "state.glslh"
#include "pages.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint k; // offsets in floats
	uint v;
	uint stride; // floats from row to row
	uint width; // G * D, a multiple of 8
	uint k_cache; // offsets in words, in a page
	uint v_cache;
	uint pad_1;
	uint pad_2;
}
params;

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint pair = gl_GlobalInvocationID.x;
	if (row >= state[STATE_ROWS] || pair >= params.width / 2u) {
		return;
	}
	const uint source = row * params.stride + 2u * pair;
	const uint start = cell_start(table_of(row), state[STATE_POSITIONS + row], params.width / 8u);
	const uint cell = 4u * start + pair;
	const vec2 key = vec2(work[params.k + source], work[params.k + source + 1u]);
	const vec2 value = vec2(work[params.v + source], work[params.v + source + 1u]);
	cache[params.k_cache + cell] = packHalf2x16(key);
	cache[params.v_cache + cell] = packHalf2x16(value);
}
