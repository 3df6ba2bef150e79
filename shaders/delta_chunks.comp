// The gated delta rule (delta_rule.comp) over the rows of one sequence, CHUNK at a time, with what
// delta_pairs.comp found of their pairs. For each value head, with its state S before a chunk:
//
//     change[r] = sum over j of solved[r, j] * (v[j] - kept_so_far[j] * S^T k[j])
//     y[r] = (kept_so_far[r] * S^T q[r] + sum over j of read[r, j] * change[j]) / sqrt(HEAD_SIZE)
//     S = kept_so_far[the last row] * S + sum over r of k[r] (x) (kept_later[r] * change[r])
//
// One group for COLUMNS columns of the state of one head: PARTS threads keep a column, each some of its
// dimensions. Source: Yang et al. 2024, Gated Delta Networks, the form in chunks.
//
// Defines    GROUP_SIZE  COLUMNS * PARTS
//            CHUNK       a multiple of 4
//            HEAD_SIZE   a multiple of 4 * PARTS
//            COLUMNS, PARTS
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

shared vec4 keys[CHUNK][OF_HEAD];
shared vec4 queries[CHUNK][OF_HEAD];
shared float pairs[CHUNK][PAIR_FLOATS];
shared float at_keys[CHUNK][GROUP_SIZE]; // S^T k of a thread's dimensions
shared float at_queries[CHUNK][GROUP_SIZE];

// Zeros for rows that are not there.
void load_chunk(const uint first, const uint rows, const uint head, const uint key_head) {
	const uint stride = (2u * params.key_heads + params.heads) * OF_HEAD;
	const uint start = params.qkv / 4u + first * stride + key_head * OF_HEAD;
	for (uint i = gl_LocalInvocationID.x; i < CHUNK * OF_HEAD; i += GROUP_SIZE) {
		const uint row = i / OF_HEAD;
		const uint at = start + row * stride + i % OF_HEAD;
		queries[row][i % OF_HEAD] = row < rows ? work4[at] : vec4(0.0);
		keys[row][i % OF_HEAD] = row < rows ? work4[at + params.key_heads * OF_HEAD] : vec4(0.0);
	}
	for (uint i = gl_LocalInvocationID.x; i < CHUNK * PAIR_FLOATS; i += GROUP_SIZE) {
		const uint row = i / PAIR_FLOATS;
		const uint at = params.pairs + ((first + row) * params.heads + head) * PAIR_FLOATS;
		pairs[row][i % PAIR_FLOATS] = row < rows ? work[at + i % PAIR_FLOATS] : 0.0;
	}
}

void main() {
	const uint blocks = (HEAD_SIZE + COLUMNS - 1u) / COLUMNS; // of a head
	const uint head = gl_WorkGroupID.x / blocks;
	const uint local = gl_LocalInvocationID.x % COLUMNS;
	const uint part = gl_LocalInvocationID.x / COLUMNS;
	const uint own = gl_WorkGroupID.x % blocks * COLUMNS + local;
	const uint column = min(own, HEAD_SIZE - 1u);
	const uint key_head = key_head_of(head, params.heads, params.key_heads, params.mapping);
	const uint slot = slot_start(0u, params.table_quads) + params.slab +
			(head * HEAD_SIZE + 4u * part * VECTORS) * HEAD_SIZE + column;
	const bool is_begun = state[STATE_POSITIONS] > 0u;

	vec4 held[VECTORS];
	[[unroll]] for (uint i = 0u; i < VECTORS; i++) {
		[[unroll]] for (uint k = 0u; k < 4u; k++) {
			held[i][k] = is_begun ? uintBitsToFloat(cache[slot + (4u * i + k) * HEAD_SIZE]) : 0.0;
		}
	}
	for (uint first = 0u; first < state[STATE_ROWS]; first += CHUNK) {
		const uint rows = min(CHUNK, state[STATE_ROWS] - first);
		load_chunk(first, rows, head, key_head);
		barrier();

		for (uint r = 0u; r < CHUNK; r += 2u) {
			vec4 of_keys[2] = { vec4(0.0), vec4(0.0) };
			vec4 of_queries[2] = { vec4(0.0), vec4(0.0) };
			[[unroll]] for (uint i = 0u; i < VECTORS; i++) {
				[[unroll]] for (uint k = 0u; k < 2u; k++) {
					of_keys[k] = fma(held[i], keys[r + k][part * VECTORS + i], of_keys[k]);
					of_queries[k] = fma(held[i], queries[r + k][part * VECTORS + i], of_queries[k]);
				}
			}
			[[unroll]] for (uint k = 0u; k < 2u; k++) {
				at_keys[r + k][gl_LocalInvocationID.x] = of_keys[k].x + of_keys[k].y + of_keys[k].z + of_keys[k].w;
				at_queries[r + k][gl_LocalInvocationID.x] =
						of_queries[k].x + of_queries[k].y + of_queries[k].z + of_queries[k].w;
			}
		}
		barrier();

		const uint width = (2u * params.key_heads + params.heads) * HEAD_SIZE; // of a row of qkv
		const uint values = params.qkv + first * width + (2u * params.key_heads + head) * HEAD_SIZE + column;
		float change[CHUNK];
		[[unroll]] for (uint r = 0u; r < CHUNK; r++) {
			float found = 0.0;
			[[unroll]] for (uint k = 0u; k < PARTS; k++) {
				found += at_keys[r][k * COLUMNS + local];
			}
			const float value = r < rows ? work[values + r * width] : 0.0;
			change[r] = value - pairs[r][PAIR_KEPT] * found;
		}
		[[unroll]] for (uint back = 0u; back < CHUNK; back++) {
			const uint r = CHUNK - 1u - back; // each row needs those before it as they were
			float sum = 0.0;
			[[unroll]] for (uint j = 0u; j <= r; j++) {
				sum = fma(pairs[r][PAIR_SOLVED + j], change[j], sum);
			}
			change[r] = sum;
		}
		[[unroll]] for (uint r = 0u; r < CHUNK; r++) {
			if (r % PARTS == part && r < rows && own < HEAD_SIZE) {
				float found = 0.0;
				[[unroll]] for (uint k = 0u; k < PARTS; k++) {
					found += at_queries[r][k * COLUMNS + local];
				}
				float sum = pairs[r][PAIR_KEPT] * found;
				[[unroll]] for (uint j = 0u; j <= r; j++) {
					sum = fma(pairs[r][PAIR_READ + j], change[j], sum);
				}
				work[params.y + ((first + r) * params.heads + head) * HEAD_SIZE + column] = sum * inversesqrt(float(HEAD_SIZE));
			}
		}
		[[unroll]] for (uint r = 0u; r < CHUNK; r++) {
			change[r] *= pairs[r][PAIR_KEPT + 1u];
		}
		const float kept = pairs[rows - 1u][PAIR_KEPT];
		[[unroll]] for (uint i = 0u; i < VECTORS; i++) {
			held[i] *= kept;
			[[unroll]] for (uint r = 0u; r < CHUNK; r++) {
				held[i] = fma(keys[r][part * VECTORS + i], vec4(change[r]), held[i]);
			}
		}
		barrier(); // before the next chunk
	}
	if (own < HEAD_SIZE) {
		[[unroll]] for (uint i = 0u; i < VECTORS; i++) {
			[[unroll]] for (uint k = 0u; k < 4u; k++) {
				cache[slot + (4u * i + k) * HEAD_SIZE] = floatBitsToUint(held[i][k]);
			}
		}
	}
}
