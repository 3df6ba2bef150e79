// The gated delta rule: for each value head, with its q, k, v and its state S, and row by row,
//
//     S = exp(decay * softplus(alpha + bias)) * S
//     S = S + k (x) (sigmoid(beta) * (v - S^T k))
//     y = S^T q / sqrt(HEAD_SIZE)
//
// A row of `qkv` has the queries and keys of the key heads, then the values. One group for GROUP_SIZE
// columns of the state of one head, of the rows of one sequence; a thread keeps its column. Rows of
// other sequences are other groups'. Source: Yang et al. 2024, Gated Delta Networks.
//
// Defines    GROUP_SIZE
//            HEAD_SIZE  a multiple of 4
// Dispatch   (heads * (HEAD_SIZE / GROUP_SIZE), 1 or rows that may be of several sequences, 1)

#extension GL_EXT_control_flow_attributes : require

#include "bindings.glslh"
#include "gate.glslh"
#include "delta_gates.glslh"
#include "state.glslh"
#include "pages.glslh"
#include "slots.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint qkv; // offsets in floats
	uint alpha;
	uint beta;
	uint y;
	uint decay; // float32 weights, in words
	uint bias;
	uint key_heads;
	uint heads; // of values
	uint mapping;
	uint slab; // offset in words, in a slot
	uint table_quads; // of a sequence
	uint pad_1;
}
params;

const uint VECTORS = HEAD_SIZE / 4u;

shared vec4 key[VECTORS];
shared vec4 query[VECTORS];

void load_key_and_query(const uint row, const uint key_head) {
	const uint start = params.qkv + row * (2u * params.key_heads + params.heads) * HEAD_SIZE + key_head * HEAD_SIZE;
	for (uint i = gl_LocalInvocationID.x; i < HEAD_SIZE; i += GROUP_SIZE) {
		query[i / 4u][i % 4u] = work[start + i];
		key[i / 4u][i % 4u] = work[start + params.key_heads * HEAD_SIZE + i];
	}
}

void main() {
	const uint blocks = (HEAD_SIZE + GROUP_SIZE - 1u) / GROUP_SIZE; // of a head
	const uint head = gl_WorkGroupID.x / blocks;
	const uint own = gl_WorkGroupID.x % blocks * GROUP_SIZE + gl_LocalInvocationID.x;
	const uint column = min(own, HEAD_SIZE - 1u);
	const uint first = gl_WorkGroupID.y;
	if (first >= state[STATE_ROWS] || (first > 0u && is_same_sequence(first, first - 1u))) {
		return; // the whole group
	}
	const uint key_head = key_head_of(head, params.heads, params.key_heads, params.mapping);
	const uint slot = slot_start(first, params.table_quads) + params.slab + head * HEAD_SIZE * HEAD_SIZE + column;
	const float decay = uintBitsToFloat(weights[params.decay + head]);
	const float bias = uintBitsToFloat(weights[params.bias + head]);
	const bool is_begun = state[STATE_POSITIONS + first] > 0u;

	vec4 held[VECTORS]; // the column
	[[unroll]] for (uint i = 0u; i < VECTORS; i++) {
		[[unroll]] for (uint j = 0u; j < 4u; j++) {
			held[i][j] = is_begun ? uintBitsToFloat(cache[slot + (4u * i + j) * HEAD_SIZE]) : 0.0;
		}
	}
	const uint end = sequence_end(first);
	for (uint row = first; row < end; row++) {
		load_key_and_query(row, key_head);
		barrier();
		const uint of_head = row * params.heads + head;
		const float kept = kept_by(decay, work[params.alpha + of_head] + bias);
		const float strength = strength_of(work[params.beta + of_head]);
		const uint values = params.qkv + (row * (2u * params.key_heads + params.heads) + 2u * params.key_heads) * HEAD_SIZE;
		const float value = work[values + head * HEAD_SIZE + column];
		vec4 found = vec4(0.0);
		[[unroll]] for (uint i = 0u; i < VECTORS; i++) {
			held[i] *= kept;
			found = fma(held[i], key[i], found);
		}
		const float change = strength * (value - (found.x + found.y + found.z + found.w));
		vec4 sums = vec4(0.0);
		[[unroll]] for (uint i = 0u; i < VECTORS; i++) {
			held[i] = fma(key[i], vec4(change), held[i]);
			sums = fma(held[i], query[i], sums);
		}
		if (own < HEAD_SIZE) {
			work[params.y + of_head * HEAD_SIZE + column] = (sums.x + sums.y + sums.z + sums.w) * inversesqrt(float(HEAD_SIZE));
		}
		barrier(); // before the next row's key and query
	}
	if (own < HEAD_SIZE) {
		[[unroll]] for (uint i = 0u; i < VECTORS; i++) {
			[[unroll]] for (uint j = 0u; j < 4u; j++) {
				cache[slot + (4u * i + j) * HEAD_SIZE] = floatBitsToUint(held[i][j]);
			}
		}
	}
}
