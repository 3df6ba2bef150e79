// y[r, h] = softmax over the cells j that row r sees of (q[r, h] . K[j]), times V[j]
//
// A row at position p sees cells max(0, p - window + 1) to p; all up to p where window is 0. It also sees
// `ahead` cells more, up to that of the last row, where the rows are of one sequence. q is scaled already.
// All cells up to the last row's position must have been written. Scores lose what alibi.glslh says for each
// cell between p and j, and are capped where there is a soft cap. With sinks, the softmax of head h
// has one more score, sinks[h], whose value is 0.
//
// A column is a query head of a row; those that share a key/value head count on, row by row. One
// group for up to COLUMNS columns of a key/value head, `step` after those of the group before, so that a
// cell is read once for all of them; their rows must be of one sequence. It
// goes through the cells by tiles: a thread scores CELLS cells of the tile, then sums PAIRS pairs of
// dimensions over all of its cells. The softmax is rescaled as it goes (Milakov and Gimelshein
// 2018), the sums so far stand in y. All in float32 but the cache.
//
// Defines    GROUP_SIZE  a multiple of COLUMNS
//            COLUMNS, CELLS, PAIRS
// Dispatch   (G, rows * (H / G) / step, 1)

#include "bindings.glslh"
#include "state.glslh"
#include "pages.glslh"
#include "alibi.glslh"
#include "soft_cap.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint q; // offsets in floats
	uint q_stride; // floats from row to row
	uint y;
	uint y_stride;
	uint k_cache; // offsets in words, in a page
	uint v_cache;
	uint heads; // H
	uint kv_heads; // G
	uint head_size; // D, a multiple of 8
	uint window; // or 0
	uint ahead; // cells after its own that a row sees
	uint step; // columns from group to group, at most COLUMNS
	float soft_cap; // of scores; or 0
	float alibi; // of slopes; or 0
	uint sinks; // float32 weights, offset in words; or NONE
	uint pad_1;
}
params;

const uint TILE = GROUP_SIZE * CELLS;
const uint SEGMENTS = GROUP_SIZE / COLUMNS; // of a tile, where its greatest scores are sought
const uint CELLS_AT_ONCE = 4u; // in the sum over values
const float LOWEST = -3.0e38;

shared float scores[COLUMNS][TILE];
shared float shares[COLUMNS][TILE]; // exp(score - greatest)
shared float partial[COLUMNS][SEGMENTS];

struct Columns {
	uint q[COLUMNS]; // where its query starts, in vectors
	uint y[COLUMNS]; // where its result starts, in floats
	uint first[COLUMNS]; // cell that it sees
	uint last[COLUMNS];
	float position[COLUMNS];
	float slope[COLUMNS]; // of ALiBi
	uint head[COLUMNS]; // that the query is of
	uint count; // the others are the last one again
	uint table; // of their sequence
};

Columns find_columns(const uint n_columns) {
	const uint group = params.heads / params.kv_heads;
	Columns columns;
	const uint start = gl_WorkGroupID.y * params.step;
	columns.count = min(n_columns - start, params.step);
	columns.table = table_of(start / group);
	for (uint c = 0u; c < COLUMNS; c++) {
		const uint column = start + min(c, columns.count - 1u);
		const uint row = column / group;
		const uint head = gl_WorkGroupID.x * group + column % group;
		const uint position = state[STATE_POSITIONS + row];
		const bool sees_all = params.window == 0u || position < params.window;
		columns.q[c] = (params.q + row * params.q_stride + head * params.head_size) / 4u;
		columns.y[c] = params.y + row * params.y_stride + head * params.head_size;
		columns.first[c] = sees_all ? 0u : position - params.window + 1u;
		columns.last[c] = last_cell(position, params.ahead);
		columns.position[c] = float(position);
		columns.slope[c] = alibi_slope(head, params.heads, params.alibi);
		columns.head[c] = head;
	}
	return columns;
}

// Scores of cells `tile` + thread + GROUP_SIZE * i.
void score_cells(const Columns columns, const uint tile, const uint end, inout float own[CELLS][COLUMNS]) {
	const uint words = params.head_size / 2u; // of a head of a cell
	const uint cell_quads = params.kv_heads * (params.head_size / 8u);
	uint keys[CELLS];
	for (uint i = 0u; i < CELLS; i++) {
		const uint cell = min(tile + gl_LocalInvocationID.x + GROUP_SIZE * i, end - 1u);
		const uint quad = cell_start(columns.table, cell, cell_quads) + gl_WorkGroupID.x * (params.head_size / 8u);
		keys[i] = params.k_cache + 4u * quad;
		for (uint c = 0u; c < COLUMNS; c++) {
			own[i][c] = 0.0;
		}
	}
	for (uint d = 0u; d < words / 2u; d++) {
		vec4 k[CELLS];
		for (uint i = 0u; i < CELLS; i++) {
			k[i] = vec4(unpackHalf2x16(cache[keys[i] + 2u * d]), unpackHalf2x16(cache[keys[i] + 2u * d + 1u]));
		}
		for (uint c = 0u; c < COLUMNS; c++) {
			const vec4 q = work4[columns.q[c] + d];
			for (uint i = 0u; i < CELLS; i++) {
				for (uint j = 0u; j < 4u; j++) {
					own[i][c] = fma(q[j], k[i][j], own[i][c]);
				}
			}
		}
	}
	for (uint i = 0u; i < CELLS; i++) {
		const uint cell = tile + gl_LocalInvocationID.x + GROUP_SIZE * i;
		for (uint c = 0u; c < COLUMNS; c++) {
			const bool is_seen = cell >= columns.first[c] && cell <= columns.last[c];
			const float score = own[i][c] - columns.slope[c] * abs(float(cell) - columns.position[c]);
			own[i][c] = is_seen ? soft_capped(score, params.soft_cap) : LOWEST;
		}
	}
}

// y = y * shrink + sum over the tile's cells of share * V; y starts with the first tile.
void sum_values(const Columns columns, const uint tile, const uint end, const bool is_first, const float shrink[COLUMNS]) {
	const uint pairs = params.head_size / 2u;
	const uint cell_quads = params.kv_heads * (params.head_size / 8u);
	for (uint chunk = gl_LocalInvocationID.x; chunk < pairs; chunk += GROUP_SIZE * PAIRS) {
		const uint values = params.v_cache + gl_WorkGroupID.x * pairs;
		uint pair[PAIRS];
		vec2 sums[PAIRS][COLUMNS];
		for (uint i = 0u; i < PAIRS; i++) {
			pair[i] = min(chunk + i * GROUP_SIZE, pairs - 1u);
			for (uint c = 0u; c < COLUMNS; c++) {
				sums[i][c] = vec2(0.0);
			}
		}
		const uint n_cells = min(TILE, end - tile);
		for (uint start = 0u; start < n_cells; start += CELLS_AT_ONCE) {
			for (uint j = start; j < start + CELLS_AT_ONCE; j++) {
				const uint cell = values + 4u * cell_start(columns.table, min(tile + j, end - 1u), cell_quads);
				vec2 v[PAIRS];
				for (uint i = 0u; i < PAIRS; i++) {
					v[i] = unpackHalf2x16(cache[cell + pair[i]]);
				}
				for (uint c = 0u; c < COLUMNS; c++) {
					const float share = shares[c][j];
					for (uint i = 0u; i < PAIRS; i++) {
						sums[i][c].x = fma(share, v[i].x, sums[i][c].x);
						sums[i][c].y = fma(share, v[i].y, sums[i][c].y);
					}
				}
			}
		}
		for (uint i = 0u; i < PAIRS; i++) {
			for (uint c = 0u; c < COLUMNS; c++) {
				const uint y = columns.y[c] + 2u * pair[i];
				const vec2 before = is_first ? vec2(0.0) : shrink[c] * vec2(work[y], work[y + 1u]);
				if (c < columns.count && chunk + i * GROUP_SIZE < pairs) {
					work[y] = before.x + sums[i][c].x;
					work[y + 1u] = before.y + sums[i][c].y;
				}
			}
		}
	}
}

void main() {
	const uint n_columns = state[STATE_ROWS] * (params.heads / params.kv_heads);
	if (gl_WorkGroupID.y * params.step >= n_columns) {
		return; // the whole group
	}
	const Columns columns = find_columns(n_columns);
	const uint thread = gl_LocalInvocationID.x;
	const uint own_column = thread % COLUMNS;
	const uint own_segment = thread / COLUMNS;
	float greatest[COLUMNS];
	uint first = columns.first[0];
	uint end = columns.last[0] + 1u;
	for (uint c = 0u; c < COLUMNS; c++) {
		greatest[c] = LOWEST;
		first = min(first, columns.first[c]);
		end = max(end, columns.last[c] + 1u);
	}

	float total = 0.0; // of the own column's shares in the own segment
	for (uint tile = first; tile < end; tile += TILE) {
		float own[CELLS][COLUMNS];
		score_cells(columns, tile, end, own);
		for (uint i = 0u; i < CELLS; i++) {
			for (uint c = 0u; c < COLUMNS; c++) {
				scores[c][thread + GROUP_SIZE * i] = own[i][c];
			}
		}
		barrier();
		float segment_greatest = LOWEST;
		for (uint j = own_segment; j < TILE; j += SEGMENTS) {
			segment_greatest = max(segment_greatest, scores[own_column][j]);
		}
		partial[own_column][own_segment] = segment_greatest;
		barrier();
		float shrink[COLUMNS];
		for (uint c = 0u; c < COLUMNS; c++) {
			const float before = greatest[c];
			for (uint s = 0u; s < SEGMENTS; s++) {
				greatest[c] = max(greatest[c], partial[c][s]);
			}
			shrink[c] = exp(before - greatest[c]);
			for (uint i = 0u; i < CELLS; i++) {
				const float share = own[i][c] == LOWEST ? 0.0 : exp(own[i][c] - greatest[c]);
				shares[c][thread + GROUP_SIZE * i] = share;
			}
		}
		barrier();
		for (uint c = 0u; c < COLUMNS; c++) {
			total *= c == own_column ? shrink[c] : 1.0;
		}
		for (uint j = own_segment; j < TILE; j += SEGMENTS) {
			total += shares[own_column][j];
		}
		sum_values(columns, tile, end, tile == first, shrink);
	}

	partial[own_column][own_segment] = total;
	barrier();
	for (uint c = 0u; c < COLUMNS; c++) {
		float sum = 0.0;
		for (uint s = 0u; s < SEGMENTS; s++) {
			sum += partial[c][s];
		}
		if (params.sinks != NONE) {
			sum += exp(uintBitsToFloat(weights[params.sinks + columns.head[c]]) - greatest[c]);
		}
		if (c < columns.count) {
			for (uint pair = thread; pair < params.head_size / 2u; pair += GROUP_SIZE) {
				work[columns.y[c] + 2u * pair] /= sum;
				work[columns.y[c] + 2u * pair + 1u] /= sum;
			}
		}
	}
}
