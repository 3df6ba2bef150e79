// For a few rows, attend.comp's sums cut along the cells, so that many groups share a long context:
//
//     greatest[s] = max of the scores of part s, total[s] = sum of exp(score - greatest[s]),
//     sums[s] = sum of exp(score - greatest[s]) * V[j]
//
// attend_merge.comp joins the parts (flash decoding, Dao et al. 2023). One group for a part of the
// cells of a head of a row; 8 threads score a cell, 16 cells at a time, then each thread sums up to
// four dimensions over them. Sums in float32. A part without cells has total 0.
//
// A partial is D + 4 floats: greatest, total, two unused, the sums; partials lie by row, head, part.
//
// Defines    GROUP_SIZE  128: D is at most 4 * GROUP_SIZE
// Dispatch   (parts, H, rows)

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint q; // offsets in floats
	uint q_stride; // floats from row to row
	uint partials;
	uint k_cache; // offsets in words
	uint v_cache;
	uint heads; // H
	uint kv_heads; // G
	uint head_size; // D, a multiple of 8
	uint window; // or 0
	uint pad[3];
}
params;

const uint TILE = 16u; // cells
const uint CELL_THREADS = GROUP_SIZE / TILE;
const float NOTHING = -3.0e38;

shared vec4 query[GROUP_SIZE];
shared float partial_scores[GROUP_SIZE];
shared float scores[TILE];

// This thread's share of the score of a cell: every CELL_THREADSth vector of its key.
float partial_score(const uint cell, const uint kv_head, const uint lane) {
	const uint words = params.head_size / 2u; // of a head of a cell
	const uint key = (params.k_cache + (cell * params.kv_heads + kv_head) * words) / 4u;
	vec4 sum = vec4(0.0);
	for (uint i = lane; i < words / 4u; i += CELL_THREADS) {
		const uvec4 halves = cache4[key + i];
		sum += query[2u * i] * vec4(unpackHalf2x16(halves.x), unpackHalf2x16(halves.y));
		sum += query[2u * i + 1u] * vec4(unpackHalf2x16(halves.z), unpackHalf2x16(halves.w));
	}
	return sum.x + sum.y + sum.z + sum.w;
}

void main() {
	const uint part = gl_WorkGroupID.x;
	const uint head = gl_WorkGroupID.y;
	const uint row = gl_WorkGroupID.z;
	if (row >= state[STATE_ROWS]) {
		return; // the whole group
	}
	const uint thread = gl_LocalInvocationID.x;
	const uint kv_head = head / (params.heads / params.kv_heads);
	const uint position = state[STATE_POSITIONS + row];
	const bool all = params.window == 0u || position < params.window;
	const uint first = all ? 0u : position - params.window + 1u;
	const uint n_parts = gl_NumWorkGroups.x;
	const uint tiles = (position + TILE - first) / TILE; // of all parts together
	const uint cells_a_part = (tiles + n_parts - 1u) / n_parts * TILE;
	const uint begin = first + part * cells_a_part;
	const uint end = min(begin + cells_a_part, position + 1u);
	const uint pairs = params.head_size / 2u;
	const uint values = params.v_cache + kv_head * pairs + thread;

	if (thread < params.head_size / 4u) {
		query[thread] = work4[(params.q + row * params.q_stride + head * params.head_size) / 4u + thread];
	}
	barrier();

	float greatest = NOTHING;
	float total = 0.0;
	vec2 sums[2] = vec2[2](vec2(0.0), vec2(0.0)); // pairs `thread` and `thread + GROUP_SIZE`
	for (uint tile = begin; tile < end; tile += TILE) {
		const uint n_cells = min(end - tile, TILE);
		const uint cell = thread / CELL_THREADS;
		partial_scores[thread] =
				cell < n_cells ? partial_score(tile + cell, kv_head, thread % CELL_THREADS) : 0.0;
		barrier();
		if (thread < TILE) {
			float sum = 0.0;
			for (uint i = 0u; i < CELL_THREADS; i++) {
				sum += partial_scores[thread * CELL_THREADS + i];
			}
			scores[thread] = thread < n_cells ? sum : NOTHING;
		}
		barrier();
		const float before = greatest;
		for (uint j = 0u; j < TILE; j++) {
			greatest = max(greatest, scores[j]);
		}
		const float shrink = exp(before - greatest);
		total *= shrink;
		sums[0] *= shrink;
		sums[1] *= shrink;
		for (uint j = 0u; j < TILE; j++) {
			if (j < n_cells) {
				const float share = exp(scores[j] - greatest);
				const uint value = values + (tile + j) * params.kv_heads * pairs;
				total += share;
				if (thread < pairs) {
					sums[0] += share * unpackHalf2x16(cache[value]);
				}
				if (thread + GROUP_SIZE < pairs) {
					sums[1] += share * unpackHalf2x16(cache[value + GROUP_SIZE]);
				}
			}
		}
	}

	const uint size = params.head_size + 4u;
	const uint partial = params.partials + ((row * params.heads + head) * n_parts + part) * size;
	if (thread == 0u) {
		work[partial] = greatest;
		work[partial + 1u] = total;
	}
	for (uint i = 0u; i < 2u; i++) {
		const uint pair = thread + i * GROUP_SIZE;
		if (pair < pairs) {
			work[partial + 4u + 2u * pair] = sums[i].x;
			work[partial + 4u + 2u * pair + 1u] = sums[i].y;
		}
	}
}
