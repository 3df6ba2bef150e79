// Attention by tiles, in float32 but the cache: see include/attend_tile.glslh.
//
// A thread scores SCORE_QUERIES queries by SCORE_KEYS cells of a tile, takes part in the softmax of
// one query, then adds up SUM_QUERIES queries by UNITS units of 8 dimensions, which stay its own.
//
// Defines    GROUP_SIZE, QUERIES, HEAD_SIZE (a multiple of 8)
//            KEYS  a multiple of 8 and of SCORE_KEYS
//            SCORE_KEYS
//            SUM_THREADS  of a query, when values are added up: divides HEAD_SIZE / 8
// Dispatch   (parts, G, rows * (H / G) / QUERIES)

#extension GL_EXT_control_flow_attributes : require

#include "bindings.glslh"
#include "state.glslh"
#include "pages.glslh"
#include "attend_tile.glslh"

const uint SCORE_STRIDE = KEYS / 4u + 1u; // vectors
const uint SCORE_THREADS = KEYS / SCORE_KEYS; // of a query
const uint SCORE_QUERIES = max(QUERIES * SCORE_THREADS / GROUP_SIZE, 1u);
const uint SUM_QUERIES = max(QUERIES * SUM_THREADS / GROUP_SIZE, 1u);
const uint UNITS = VECTORS / SUM_THREADS;
const uint SOFTMAX_VECTORS = KEYS / 4u / QUERY_THREADS; // of a thread

shared uvec4 tile[KEYS * TILE_STRIDE];
shared vec4 scores[QUERIES * SCORE_STRIDE]; // then the shares
shared float found[GROUP_SIZE * OWN_QUERIES]; // by each thread of a softmax: greatest, later total
shared float shrinks[QUERIES];

void put_tile(const uvec4 loaded[LOADS]) {
	[[unroll]] for (uint i = 0u; i < LOADS; i++) {
		const uint at = gl_LocalInvocationID.x + i * GROUP_SIZE;
		if (at < KEYS * VECTORS) {
			tile[at / VECTORS * TILE_STRIDE + at % VECTORS] = loaded[i];
		}
	}
}

vec4 low_half(const uvec4 halves) {
	return vec4(unpackHalf2x16(halves.x), unpackHalf2x16(halves.y));
}

vec4 high_half(const uvec4 halves) {
	return vec4(unpackHalf2x16(halves.z), unpackHalf2x16(halves.w));
}

void score_tile() {
	const uint key = gl_LocalInvocationID.x % SCORE_THREADS;
	const uint query = gl_LocalInvocationID.x / SCORE_THREADS * SCORE_QUERIES;
	if (query >= QUERIES) {
		return;
	}
	vec4 sums[SCORE_QUERIES][SCORE_KEYS];
	uint from[SCORE_QUERIES];
	[[unroll]] for (uint i = 0u; i < SCORE_QUERIES; i++) {
		from[i] = query_q[query + i];
		[[unroll]] for (uint j = 0u; j < SCORE_KEYS; j++) {
			sums[i][j] = vec4(0.0);
		}
	}
	for (uint d = 0u; d < VECTORS; d++) {
		vec4 k[SCORE_KEYS][2];
		[[unroll]] for (uint j = 0u; j < SCORE_KEYS; j++) {
			const uvec4 halves = tile[(key + j * SCORE_THREADS) * TILE_STRIDE + d];
			k[j][0] = low_half(halves);
			k[j][1] = high_half(halves);
		}
		[[unroll]] for (uint i = 0u; i < SCORE_QUERIES; i++) {
			const vec4 q[2] = vec4[2](work4[from[i] + 2u * d], work4[from[i] + 2u * d + 1u]);
			[[unroll]] for (uint j = 0u; j < SCORE_KEYS; j++) {
				sums[i][j] = fma(q[1], k[j][1], fma(q[0], k[j][0], sums[i][j]));
			}
		}
	}
	[[unroll]] for (uint i = 0u; i < SCORE_QUERIES; i++) {
		[[unroll]] for (uint j = 0u; j < SCORE_KEYS; j++) {
			const uint at = key + j * SCORE_THREADS;
			scores[(query + i) * SCORE_STRIDE + at / 4u][at % 4u] = LOG2_E * sum_of(sums[i][j]);
		}
	}
}

void add_values(inout vec4 sums[SUM_QUERIES][UNITS][2]) {
	const uint unit = gl_LocalInvocationID.x % SUM_THREADS;
	const uint query = gl_LocalInvocationID.x / SUM_THREADS * SUM_QUERIES;
	if (query >= QUERIES) {
		return;
	}
	[[unroll]] for (uint i = 0u; i < SUM_QUERIES; i++) {
		[[unroll]] for (uint u = 0u; u < UNITS; u++) {
			sums[i][u][0] *= shrinks[query + i];
			sums[i][u][1] *= shrinks[query + i];
		}
	}
	for (uint key = 0u; key < KEYS; key += 4u) {
		vec4 shares[SUM_QUERIES];
		[[unroll]] for (uint i = 0u; i < SUM_QUERIES; i++) {
			shares[i] = scores[(query + i) * SCORE_STRIDE + key / 4u];
		}
		[[unroll]] for (uint n = 0u; n < 4u; n++) {
			[[unroll]] for (uint u = 0u; u < UNITS; u++) {
				const uvec4 halves = tile[(key + n) * TILE_STRIDE + unit + u * SUM_THREADS];
				const vec4 low = low_half(halves);
				const vec4 high = high_half(halves);
				[[unroll]] for (uint i = 0u; i < SUM_QUERIES; i++) {
					sums[i][u][0] = fma(vec4(shares[i][n]), low, sums[i][u][0]);
					sums[i][u][1] = fma(vec4(shares[i][n]), high, sums[i][u][1]);
				}
			}
		}
	}
}

void main() {
	const uint n_queries = count_queries();
	if (first_query() >= n_queries) {
		return; // the whole group
	}
	const Part part = find_part(n_queries);
	if (part.begin >= part.end) {
		return; // the whole group
	}
	const uint thread = gl_LocalInvocationID.x;
	const uint own = thread / QUERY_THREADS * OWN_QUERIES;
	const uint lane = thread % QUERY_THREADS;
	const bool has_query = own < QUERIES;
	float greatest[OWN_QUERIES];
	float total[OWN_QUERIES];
	[[unroll]] for (uint i = 0u; i < OWN_QUERIES; i++) {
		greatest[i] = LOWEST;
		total[i] = 0.0;
	}
	vec4 sums[SUM_QUERIES][UNITS][2];
	[[unroll]] for (uint i = 0u; i < SUM_QUERIES; i++) {
		[[unroll]] for (uint u = 0u; u < UNITS; u++) {
			sums[i][u] = vec4[2](vec4(0.0), vec4(0.0));
		}
	}

	uvec4 loaded[LOADS];
	load_tile(params.k_cache, part.begin, part.end, loaded);
	for (uint start = part.begin; start < part.end; start += KEYS) {
		put_tile(loaded);
		barrier();
		load_tile(params.v_cache, start, part.end, loaded);
		score_tile();
		barrier();
		put_tile(loaded);
		if (start + KEYS < part.end) {
			load_tile(params.k_cache, start + KEYS, part.end, loaded);
		}

		const bool all_seen = start >= part.all_from && start + KEYS <= part.all_to;
		vec4 shares[OWN_QUERIES][SOFTMAX_VECTORS];
		[[unroll]] for (uint i = 0u; i < OWN_QUERIES; i++) {
			float most = LOWEST;
			[[unroll]] for (uint j = 0u; j < SOFTMAX_VECTORS; j++) {
				if (has_query) {
					const uint at = j * QUERY_THREADS + lane;
					shares[i][j] = capped(biased(scores[(own + i) * SCORE_STRIDE + at], own + i, start + 4u * at));
					if (!all_seen) {
						shares[i][j] = only_seen(shares[i][j], start + 4u * at, query_first[own + i], query_cells[own + i]);
					}
					most = max(most, greatest_of(shares[i][j]));
				}
			}
			found[thread * OWN_QUERIES + i] = most;
		}
		barrier();
		[[unroll]] for (uint i = 0u; i < OWN_QUERIES; i++) {
			if (has_query) {
				const float before = greatest[i];
				[[unroll]] for (uint j = 0u; j < QUERY_THREADS; j++) {
					greatest[i] = max(greatest[i], found[(thread - lane + j) * OWN_QUERIES + i]);
				}
				// Where a query has seen nothing yet, its shares must come out as 0.
				const float reference = max(greatest[i], 0.5 * LOWEST);
				const float shrink = exp2(before - greatest[i]);
				total[i] *= shrink;
				[[unroll]] for (uint j = 0u; j < SOFTMAX_VECTORS; j++) {
					shares[i][j] = exp2(shares[i][j] - reference);
					total[i] += sum_of(shares[i][j]);
					scores[(own + i) * SCORE_STRIDE + j * QUERY_THREADS + lane] = shares[i][j];
				}
				if (lane == 0u) {
					shrinks[own + i] = shrink;
				}
			}
		}
		barrier();
		add_values(sums);
		barrier();
	}

	[[unroll]] for (uint i = 0u; i < OWN_QUERIES; i++) {
		found[thread * OWN_QUERIES + i] = total[i];
	}
	barrier();
	[[unroll]] for (uint i = 0u; i < OWN_QUERIES; i++) {
		if (has_query && lane == 0u) {
			total[i] = 0.0;
			[[unroll]] for (uint j = 0u; j < QUERY_THREADS; j++) {
				total[i] += found[(thread + j) * OWN_QUERIES + i];
			}
			shrinks[own + i] = part.parts == 1u ? 1.0 / whole_total(own + i, greatest[i], total[i]) : 1.0;
			if (part.parts > 1u) {
				leave_totals(own + i, greatest[i], total[i]);
			}
		}
	}
	barrier();
	const uint unit = thread % SUM_THREADS;
	[[unroll]] for (uint i = 0u; i < SUM_QUERIES; i++) {
		const uint query = thread / SUM_THREADS * SUM_QUERIES + i;
		if (query < QUERIES && query_cells[query] != 0u) {
			[[unroll]] for (uint u = 0u; u < UNITS; u++) {
				const uint at = sums_at(part, query, 2u * (unit + u * SUM_THREADS));
				work4[at] = shrinks[query] * sums[i][u][0];
				work4[at + 1u] = shrinks[query] * sums[i][u][1];
			}
		}
	}
	leave_count(part.parts);
}
