// What the rows of a chunk are to each other under the gated delta rule (delta_rule.comp), for each value
// head, without the state. Row r keeps kept[r] of the state before it, and between[r, j] = the product of
// kept[j + 1] to kept[r] of what row j wrote. For each row and head, in `pairs`:
//
//     solved[r, j]  the inverse of (1 + lower triangle of strength[r] * between[r, j] * (k[r] . k[j])),
//                   times strength[j]
//     read[r, j]    between[r, j] * (q[r] . k[j]), for j <= r
//     kept_so_far   the product of kept up to row r
//     kept_later    between[the chunk's last row, r]
//
// One group for a chunk of the rows of one sequence and a head: a thread has a row j, and CHUNK * CHUNK /
// GROUP_SIZE rows r. Products of decays are not differences of their logarithms, which may be large. Source:
// Yang et al. 2024, Gated Delta Networks, the form in chunks.
//
// Defines    GROUP_SIZE  a multiple of CHUNK that divides its square
//            CHUNK, HEAD_SIZE  multiples of 4
// Dispatch   (heads, rows / CHUNK, 1)

#extension GL_EXT_control_flow_attributes : require

#include "bindings.glslh"
#include "gate.glslh"
#include "state.glslh"
#include "delta_gates.glslh"
#include "delta_pairs.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint qkv; // offsets in floats
	uint alpha;
	uint beta;
	uint pairs;
	uint decay; // float32 weights, in words
	uint bias;
	uint key_heads;
	uint heads; // of values
	uint mapping;
	uint pad_1;
	uint pad_2;
	uint pad_3;
}
params;

const uint VECTORS = HEAD_SIZE / 4u;
const uint ROWS = CHUNK * CHUNK / GROUP_SIZE; // r, of a thread

// A vector more than needed, so that threads read other banks.
shared vec4 keys[CHUNK][VECTORS + 1u];
shared vec4 queries[CHUNK][VECTORS + 1u];
shared float kept[CHUNK];
shared float strengths[CHUNK];
shared float between[CHUNK][CHUNK];
shared float changes[CHUNK][CHUNK];

void load_keys_and_queries(const uint first, const uint rows, const uint key_head) {
	const uint stride = (2u * params.key_heads + params.heads) * VECTORS;
	const uint start = params.qkv / 4u + first * stride + key_head * VECTORS;
	for (uint i = gl_LocalInvocationID.x; i < CHUNK * VECTORS; i += GROUP_SIZE) {
		const uint row = i / VECTORS;
		const uint at = start + row * stride + i % VECTORS;
		queries[row][i % VECTORS] = row < rows ? work4[at] : vec4(0.0);
		keys[row][i % VECTORS] = row < rows ? work4[at + params.key_heads * VECTORS] : vec4(0.0);
	}
}

// Rows that are not there keep everything and write nothing.
void find_gates(const uint first, const uint rows, const uint head) {
	const float decay = uintBitsToFloat(weights[params.decay + head]);
	const float bias = uintBitsToFloat(weights[params.bias + head]);
	for (uint row = gl_LocalInvocationID.x; row < CHUNK; row += GROUP_SIZE) {
		const uint of_head = (first + row) * params.heads + head;
		kept[row] = row < rows ? kept_by(decay, work[params.alpha + of_head] + bias) : 1.0;
		strengths[row] = row < rows ? strength_of(work[params.beta + of_head]) : 0.0;
	}
}

void main() {
	const uint head = gl_WorkGroupID.x;
	const uint first = gl_WorkGroupID.y * CHUNK;
	if (first >= state[STATE_ROWS]) {
		return; // the whole group
	}
	const uint rows = min(CHUNK, state[STATE_ROWS] - first);
	load_keys_and_queries(first, rows, key_head_of(head, params.heads, params.key_heads, params.mapping));
	find_gates(first, rows, head);
	barrier();

	const uint j = gl_LocalInvocationID.x % CHUNK;
	const uint own = ROWS == CHUNK ? 0u : gl_LocalInvocationID.x / CHUNK * ROWS; // 0: in all threads
	if (own == 0u) {
		float product = 1.0;
		for (uint r = 0u; r < CHUNK; r++) {
			product *= r > j ? kept[r] : 1.0;
			between[r][j] = r >= j ? product : 0.0;
		}
	}
	barrier();

	const uint pairs = params.pairs + (first * params.heads + head) * PAIR_FLOATS;
	const uint stride = params.heads * PAIR_FLOATS; // from row to row
	vec4 of_keys[ROWS];
	vec4 of_queries[ROWS];
	[[unroll]] for (uint i = 0u; i < ROWS; i++) {
		of_keys[i] = vec4(0.0);
		of_queries[i] = vec4(0.0);
	}
	for (uint vector = 0u; vector < VECTORS; vector++) {
		const vec4 key = keys[j][vector];
		[[unroll]] for (uint i = 0u; i < ROWS; i++) {
			of_keys[i] = fma(keys[own + i][vector], key, of_keys[i]);
			of_queries[i] = fma(queries[own + i][vector], key, of_queries[i]);
		}
	}
	[[unroll]] for (uint i = 0u; i < ROWS; i++) {
		const uint r = own + i;
		const vec4 sums = of_keys[i] * between[r][j];
		const vec4 read = of_queries[i] * between[r][j];
		changes[r][j] = r > j ? strengths[r] * (sums.x + sums.y + sums.z + sums.w) : 0.0;
		if (r < rows) {
			work[pairs + r * stride + PAIR_READ + j] = read.x + read.y + read.z + read.w;
		}
	}
	barrier();

	if (own == 0u) {
		float solved[CHUNK]; // a column of the inverse
		[[unroll]] for (uint r = 0u; r < CHUNK; r++) {
			solved[r] = r == j ? 1.0 : 0.0;
		}
		[[unroll]] for (uint c = 0u; c < CHUNK; c++) {
			[[unroll]] for (uint r = c + 1u; r < CHUNK; r++) {
				solved[r] = fma(-changes[r][c], solved[c], solved[r]);
			}
		}
		[[unroll]] for (uint r = 0u; r < CHUNK; r++) {
			if (r < rows) {
				work[pairs + r * stride + PAIR_SOLVED + j] = solved[r] * strengths[j];
			}
		}
		if (j < rows) {
			work[pairs + j * stride + PAIR_KEPT] = kept[0] * between[j][0];
			work[pairs + j * stride + PAIR_KEPT + 1u] = between[CHUNK - 1u][j];
		}
	}
}
