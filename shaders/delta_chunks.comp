// The gated delta rule (delta_rule.comp) over the rows of one sequence, CHUNK at a time, with what
// delta_pairs.comp found of their pairs. For each value head, with its state S before a chunk:
//
//     change[r] = sum over j of solved[r, j] * (v[j] - kept_so_far[j] * S^T k[j])
//     y[r] = (kept_so_far[r] * S^T q[r] + sum over j of read[r, j] * change[j]) / sqrt(HEAD_SIZE)
//     S = kept_so_far[the last row] * S + sum over r of k[r] (x) (kept_later[r] * change[r])
//
// One group for COLUMNS columns of the state of one head: a thread keeps EACH of them, so that what it
// reads of a key serves them all, and PARTS threads share a column's dimensions. Source: Yang et al. 2024,
// Gated Delta Networks, the form in chunks.
//
// Defines    GROUP_SIZE  COLUMNS / EACH * PARTS
//            HEAD_SIZE   a multiple of 4 * PARTS
//            CHUNK, COLUMNS, EACH, PARTS
//            IS_STAGED   1: keys and queries go through shared memory; 0: all threads read the same one of
//                        them at once, where that costs no more
// Dispatch   (heads * (HEAD_SIZE / COLUMNS), 1, 1)

#extension GL_EXT_control_flow_attributes : require

#include "bindings.glslh"
#include "state.glslh"
#include "pages.glslh"
#include "slots.glslh"
#include "gate.glslh"
#include "delta_gates.glslh"
#include "delta_pairs.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint qkv; // offsets in floats
	uint pairs;
	uint y;
	uint key_heads;
	uint heads; // of values
	uint mapping;
	uint slab; // offset in words, in a slot
	uint table_quads; // of a sequence
}
params;

const uint OF_HEAD = HEAD_SIZE / 4u; // vectors
const uint VECTORS = OF_HEAD / PARTS; // of a thread
const uint LANES = COLUMNS / EACH; // threads of a part

uint rows; // of the chunk at hand
uint first_key; // its first key of the head, in vectors
uint first_query;
uint first_pair; // in floats
float change[CHUNK]; // of a column, by each row

#if IS_STAGED
shared vec4 keys[CHUNK][OF_HEAD];
shared vec4 queries[CHUNK][OF_HEAD];
shared float pairs[CHUNK][PAIR_FLOATS];
#endif

shared float found_by_keys[CHUNK][PARTS][COLUMNS]; // S^T k of a part's dimensions
shared float found_by_queries[CHUNK][PARTS][COLUMNS];

uint row_vectors() {
	return (2u * params.key_heads + params.heads) * OF_HEAD;
}

void begin_chunk(const uint first, const uint head) {
	const uint key_head = key_head_of(head, params.heads, params.key_heads, params.mapping);
	rows = min(CHUNK, state[STATE_ROWS] - first);
	first_query = params.qkv / 4u + first * row_vectors() + key_head * OF_HEAD;
	first_key = first_query + params.key_heads * OF_HEAD;
	first_pair = params.pairs + (first * params.heads + head) * PAIR_FLOATS;
#if IS_STAGED
	for (uint i = gl_LocalInvocationID.x; i < rows * OF_HEAD; i += GROUP_SIZE) {
		const uint at = i / OF_HEAD * row_vectors() + i % OF_HEAD;
		keys[i / OF_HEAD][i % OF_HEAD] = work4[first_key + at];
		queries[i / OF_HEAD][i % OF_HEAD] = work4[first_query + at];
	}
	for (uint i = gl_LocalInvocationID.x; i < rows * PAIR_FLOATS; i += GROUP_SIZE) {
		const uint at = i / PAIR_FLOATS * params.heads * PAIR_FLOATS + i % PAIR_FLOATS;
		pairs[i / PAIR_FLOATS][i % PAIR_FLOATS] = work[first_pair + at];
	}
	barrier();
#endif
}

// A chunk that ends early has its last row in place of those that are not there; their changes are 0.
uint there(const uint row) {
	return min(row, rows - 1u);
}

vec4 key_at(const uint row, const uint vector) {
#if IS_STAGED
	return keys[there(row)][vector];
#else
	return work4[first_key + there(row) * row_vectors() + vector];
#endif
}

vec4 query_at(const uint row, const uint vector) {
#if IS_STAGED
	return queries[there(row)][vector];
#else
	return work4[first_query + there(row) * row_vectors() + vector];
#endif
}

float pair_at(const uint row, const uint i) {
#if IS_STAGED
	return pairs[there(row)][i];
#else
	return work[first_pair + there(row) * params.heads * PAIR_FLOATS + i];
#endif
}

// `place` is the column's among those of the group.
void find_changes(const uint first, const uint head, const uint column, const uint place) {
	const uint width = 4u * row_vectors();
	const uint values = params.qkv + first * width + (2u * params.key_heads + head) * HEAD_SIZE + column;
	[[unroll]] for (uint r = 0u; r < CHUNK; r++) {
		float found = 0.0;
		[[unroll]] for (uint part = 0u; part < PARTS; part++) {
			found += found_by_keys[r][part][place];
		}
		change[r] = work[values + there(r) * width] - pair_at(r, PAIR_KEPT) * found;
	}
	[[unroll]] for (uint back = 0u; back < CHUNK; back++) {
		const uint r = CHUNK - 1u - back; // each row needs those before it as they were
		float sum = 0.0;
		[[unroll]] for (uint j = 0u; j <= r; j++) {
			sum = fma(pair_at(r, PAIR_SOLVED + j), change[j], sum);
		}
		change[r] = r < rows ? sum : 0.0;
	}
}

// What the queries of each PARTS-th row find.
void find_rows(const uint first, const uint head, const uint column, const uint place, const uint own) {
	[[unroll]] for (uint r = 0u; r < CHUNK; r++) {
		if (r % PARTS == own && r < rows) {
			float found = 0.0;
			[[unroll]] for (uint part = 0u; part < PARTS; part++) {
				found += found_by_queries[r][part][place];
			}
			float sum = pair_at(r, PAIR_KEPT) * found;
			[[unroll]] for (uint j = 0u; j <= r; j++) {
				sum = fma(pair_at(r, PAIR_READ + j), change[j], sum);
			}
			const uint at = params.y + ((first + r) * params.heads + head) * HEAD_SIZE + column;
			work[at] = sum * inversesqrt(float(HEAD_SIZE));
		}
	}
}

void main() {
	const uint blocks = (HEAD_SIZE + COLUMNS - 1u) / COLUMNS; // of a head
	const uint head = gl_WorkGroupID.x / blocks;
	const uint lane = gl_LocalInvocationID.x % LANES;
	// Said so, one part's number is known to be the same in all threads, and so are addresses of its keys.
	const uint part = PARTS == 1u ? 0u : gl_LocalInvocationID.x / LANES;
	const uint own = gl_WorkGroupID.x % blocks * COLUMNS + lane; // the first column, others LANES apart
	const uint slot = slot_start(0u, params.table_quads) + params.slab +
			(head * HEAD_SIZE + 4u * part * VECTORS) * HEAD_SIZE;
	const bool is_begun = state[STATE_POSITIONS] > 0u;

	vec4 held[EACH][VECTORS];
	[[unroll]] for (uint c = 0u; c < EACH; c++) {
		const uint at = slot + min(own + c * LANES, HEAD_SIZE - 1u);
		[[unroll]] for (uint i = 0u; i < VECTORS; i++) {
			[[unroll]] for (uint k = 0u; k < 4u; k++) {
				held[c][i][k] = is_begun ? uintBitsToFloat(cache[at + (4u * i + k) * HEAD_SIZE]) : 0.0;
			}
		}
	}
	for (uint first = 0u; first < state[STATE_ROWS]; first += CHUNK) {
		begin_chunk(first, head);
		for (uint r = 0u; r < CHUNK; r++) {
			float of_key[EACH];
			float of_query[EACH];
			[[unroll]] for (uint c = 0u; c < EACH; c++) {
				of_key[c] = 0.0;
				of_query[c] = 0.0;
			}
			[[unroll]] for (uint i = 0u; i < VECTORS; i++) {
				const vec4 key = key_at(r, part * VECTORS + i);
				const vec4 query = query_at(r, part * VECTORS + i);
				[[unroll]] for (uint c = 0u; c < EACH; c++) {
					[[unroll]] for (uint k = 0u; k < 4u; k++) {
						of_key[c] = fma(held[c][i][k], key[k], of_key[c]);
						of_query[c] = fma(held[c][i][k], query[k], of_query[c]);
					}
				}
			}
			[[unroll]] for (uint c = 0u; c < EACH; c++) {
				found_by_keys[r][part][c * LANES + lane] = of_key[c];
				found_by_queries[r][part][c * LANES + lane] = of_query[c];
			}
		}
		barrier();

		float changes[EACH][CHUNK];
		[[unroll]] for (uint c = 0u; c < EACH; c++) {
			const uint column = own + c * LANES;
			find_changes(first, head, min(column, HEAD_SIZE - 1u), c * LANES + lane);
			if (column < HEAD_SIZE) {
				find_rows(first, head, column, c * LANES + lane, part);
			}
			const float kept = pair_at(rows - 1u, PAIR_KEPT);
			[[unroll]] for (uint i = 0u; i < VECTORS; i++) {
				held[c][i] *= kept;
			}
			[[unroll]] for (uint r = 0u; r < CHUNK; r++) {
				changes[c][r] = change[r] * pair_at(r, PAIR_KEPT + 1u);
			}
		}
		[[unroll]] for (uint i = 0u; i < VECTORS; i++) {
			[[unroll]] for (uint r = 0u; r < CHUNK; r++) {
				const vec4 key = key_at(r, part * VECTORS + i);
				[[unroll]] for (uint c = 0u; c < EACH; c++) {
					held[c][i] = fma(key, vec4(changes[c][r]), held[c][i]);
				}
			}
		}
		barrier(); // before the next chunk
	}
	[[unroll]] for (uint c = 0u; c < EACH; c++) {
		const uint column = own + c * LANES;
		if (column < HEAD_SIZE) {
			[[unroll]] for (uint i = 0u; i < VECTORS; i++) {
				[[unroll]] for (uint k = 0u; k < 4u; k++) {
					cache[slot + column + (4u * i + k) * HEAD_SIZE] = floatBitsToUint(held[c][i][k]);
				}
			}
		}
	}
}
