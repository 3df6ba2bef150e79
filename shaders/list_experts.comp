// Lists which rows use which expert, expert after expert, in tiles of at most `size` pairs: see
// product_columns.glslh and expert_lists.glslh.
//
// One group. Threads count the pairs of each expert, then each sums up what experts before its own have, and
// in the end every pair takes a place of its expert. Their order there is any.
//
// Defines    GROUP_SIZE
//            MAX_EXPERTS
// Dispatch   (1, 1, 1)

#include "bindings.glslh"
#include "expert_lists.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint choice; // offset in floats
	uint used; // U, experts of a row
	uint experts; // E
	uint size; // of a tile, in pairs
	uint lists; // offset in words of work
	uint pairs; // word of the lists where the pairs start
	uint pad_1;
	uint pad_2;
}
params;

shared uint counts[MAX_EXPERTS]; // of pairs
shared uint places[MAX_EXPERTS]; // where the next pair goes

uint expert_of(const uint pair) {
	return uint(work[params.choice + pair / params.used * 2u * params.used + pair % params.used]);
}

uint tiles_of(const uint count) {
	return (count + params.size - 1u) / params.size;
}

void main() {
	const uint thread = gl_LocalInvocationID.x;
	const uint n_pairs = state[STATE_ROWS] * params.used;
	for (uint e = thread; e < params.experts; e += GROUP_SIZE) {
		counts[e] = 0u;
	}
	barrier();
	for (uint pair = thread; pair < n_pairs; pair += GROUP_SIZE) {
		atomicAdd(counts[expert_of(pair)], 1u);
	}
	barrier();
	for (uint e = thread; e < params.experts; e += GROUP_SIZE) {
		uint place = 0u;
		uint tile = 0u;
		for (uint before = 0u; before < e; before++) {
			place += counts[before];
			tile += tiles_of(counts[before]);
		}
		places[e] = place;
		const uint n_tiles = tiles_of(counts[e]);
		for (uint t = 0u; t < n_tiles; t++) {
			const uint at = params.lists + LIST_TILES + (tile + t) * TILE_WORDS;
			work_bits[at] = place + t * params.size;
			work_bits[at + 1u] = place + counts[e];
			work_bits[at + 2u] = e;
		}
		if (e + 1u == params.experts) {
			work_bits[params.lists] = tile + n_tiles;
		}
	}
	barrier();
	for (uint pair = thread; pair < n_pairs; pair += GROUP_SIZE) {
		work_bits[params.lists + params.pairs + atomicAdd(places[expert_of(pair)], 1u)] = pair;
	}
}
