// Attention by tiles with cooperative matrices: see include/attend_tile.glslh. Queries and shares
// are rounded to float16, scores and sums are float32.
//
// The subgroups of a group stand in DOWN rows over a tile of scores (QUERIES by KEYS) and over the
// sums (QUERIES by HEAD_SIZE). A subgroup's sums stay in its registers. Scores and shares go through
// shared memory, as which thread holds which element of a matrix is the driver's secret.
//
// Defines    GROUP_SIZE, SUBGROUP_SIZE
//            HEAD_SIZE  a multiple of 16
//            QUERIES  a multiple of 16 * DOWN
//            KEYS  a multiple of 16 * subgroups / DOWN
//            DOWN
// Dispatch   (parts, G, rows * (H / G) / QUERIES)

#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_vote : require

#include "bindings.glslh"
#include "state.glslh"
#include "pages.glslh"
#include "attend_tile.glslh"

#define LEFT coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>
#define RIGHT coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>
#define SUM coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>

const uint SUBGROUPS = GROUP_SIZE / SUBGROUP_SIZE;
const uint ACROSS = SUBGROUPS / DOWN;
const uint BLOCKS = QUERIES / 16u / DOWN; // of 16 queries, of a subgroup
const uint KEY_BLOCKS = KEYS / 16u / ACROSS; // of a subgroup
const uint DIM_BLOCKS = HEAD_SIZE / 16u; // of all subgroups
const uint OWN_DIM_BLOCKS = (DIM_BLOCKS + ACROSS - 1u) / ACROSS;
const uint SCORE_STRIDE = KEYS / 4u + 1u; // vectors
const uint OUT_STRIDE = 4u * OWN_DIM_BLOCKS + 1u; // vectors of a query of a block, on its way out
const uint TILE = max(KEYS * TILE_STRIDE, SUBGROUPS * 16u * OUT_STRIDE); // vectors
const uint Q_LOADS = (QUERIES * VECTORS + GROUP_SIZE - 1u) / GROUP_SIZE;
const uint SOFTMAX_UNITS = KEYS / 8u / QUERY_THREADS; // of 8 cells, of a thread
const float HEADROOM = 8.0; // sums are rescaled only where a score exceeds the greatest by more

shared uvec4 tile[TILE];
shared uvec4 scores[QUERIES * SCORE_STRIDE]; // floats, then the shares as float16 in their place
shared float shrinks[QUERIES];
shared uint greatest_q; // bits

void put_tile(const uvec4 loaded[LOADS]) {
	[[unroll]] for (uint i = 0u; i < LOADS; i++) {
		const uint at = gl_LocalInvocationID.x + i * GROUP_SIZE;
		if ((KEYS * VECTORS) % GROUP_SIZE == 0u || at < KEYS * VECTORS) {
			tile[at / VECTORS * TILE_STRIDE + at % VECTORS] = loaded[i];
		}
	}
}

uvec4 to_halves(const vec4 a, const vec4 b) {
	return uvec4(packHalf2x16(a.xy), packHalf2x16(a.zw), packHalf2x16(b.xy), packHalf2x16(b.zw));
}

// All queries times `scale` to the tile; returns the bits of the largest float that this thread saw.
uint put_queries(const float scale) {
	uint most = 0u;
	[[unroll]] for (uint i = 0u; i < Q_LOADS; i++) {
		const uint at = gl_LocalInvocationID.x + i * GROUP_SIZE;
		if ((QUERIES * VECTORS) % GROUP_SIZE == 0u || at < QUERIES * VECTORS) {
			const uint from = query_q[at / VECTORS] + 2u * (at % VECTORS);
			const vec4 low = work4[from];
			const vec4 high = work4[from + 1u];
			const uvec4 bits = max(floatBitsToUint(abs(low)), floatBitsToUint(abs(high)));
			most = max(most, max(max(bits.x, bits.y), max(bits.z, bits.w)));
			tile[at / VECTORS * TILE_STRIDE + at % VECTORS] = to_halves(scale * low, scale * high);
		}
	}
	return most;
}

void main() {
	const uint n_queries = count_queries();
	if (first_query() >= n_queries) {
		return; // the whole group
	}
	const uint thread = gl_LocalInvocationID.x;
	if (thread == 0u) {
		greatest_q = 0u;
	}
	const Part part = find_part(n_queries);
	if (part.begin >= part.end) {
		return; // the whole group
	}
	uvec4 loaded[LOADS];
	load_tile(params.k_cache, part.begin, part.end, loaded);

	const uint most_q = subgroupMax(put_queries(1.0));
	if (subgroupElect()) {
		atomicMax(greatest_q, most_q);
	}
	barrier();
	// Where float16 would overflow, or lose too many bits, all are scaled by one power of two.
	const int exponent = int(greatest_q >> 23u); // 255 of infinity and NaN, which stay what they are
	int shift = 0;
	if (exponent != 0 && exponent != 255 && (exponent < 127 - 3 || exponent >= 127 + 15)) {
		shift = clamp(127 + 13 - exponent, -126, 126);
		put_queries(ldexp(1.0, shift));
		barrier();
	}
	const float score_scale = LOG2_E * ldexp(1.0, -shift);

	const uint down = gl_SubgroupID / ACROSS;
	const uint across = gl_SubgroupID % ACROSS;
	LEFT own_q[BLOCKS][DIM_BLOCKS];
	[[unroll]] for (uint b = 0u; b < BLOCKS; b++) {
		[[unroll]] for (uint d = 0u; d < DIM_BLOCKS; d++) {
			const uint at = (down * BLOCKS + b) * 16u * TILE_STRIDE + 2u * d;
			coopMatLoad(own_q[b][d], tile, at, TILE_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
		}
	}
	barrier();

	// Loops over arrays of matrices must have constant bounds throughout: one that a compiler does not
	// unroll puts the array into local memory, twice as slow.
	SUM sums[BLOCKS][OWN_DIM_BLOCKS];
	[[unroll]] for (uint b = 0u; b < BLOCKS; b++) {
		[[unroll]] for (uint d = 0u; d < OWN_DIM_BLOCKS; d++) {
			sums[b][d] = SUM(0.0);
		}
	}
	const uint own = thread / QUERY_THREADS * OWN_QUERIES;
	const uint lane = thread % QUERY_THREADS;
	const bool has_query = own < QUERIES;
	float greatest[OWN_QUERIES];
	float total[OWN_QUERIES];
	[[unroll]] for (uint i = 0u; i < OWN_QUERIES; i++) {
		greatest[i] = LOWEST;
		total[i] = 0.0;
	}

	for (uint start = part.begin; start < part.end; start += KEYS) {
		put_tile(loaded);
		barrier();
		load_tile(params.v_cache, start, part.end, loaded);
		SUM found[BLOCKS][KEY_BLOCKS];
		[[unroll]] for (uint b = 0u; b < BLOCKS; b++) {
			[[unroll]] for (uint n = 0u; n < KEY_BLOCKS; n++) {
				found[b][n] = SUM(0.0);
			}
		}
		[[unroll]] for (uint d = 0u; d < DIM_BLOCKS; d++) {
			[[unroll]] for (uint n = 0u; n < KEY_BLOCKS; n++) {
				RIGHT keys;
				coopMatLoad(keys, tile, (across * KEY_BLOCKS + n) * 16u * TILE_STRIDE + 2u * d, TILE_STRIDE, gl_CooperativeMatrixLayoutColumnMajor);
				[[unroll]] for (uint b = 0u; b < BLOCKS; b++) {
					found[b][n] = coopMatMulAdd(own_q[b][d], keys, found[b][n]);
				}
			}
		}
		[[unroll]] for (uint b = 0u; b < BLOCKS; b++) {
			[[unroll]] for (uint n = 0u; n < KEY_BLOCKS; n++) {
				const uint at = (down * BLOCKS + b) * 16u * SCORE_STRIDE + (across * KEY_BLOCKS + n) * 4u;
				coopMatStore(found[b][n], scores, at, SCORE_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
			}
		}
		barrier();
		put_tile(loaded);
		if (start + KEYS < part.end) {
			load_tile(params.k_cache, start + KEYS, part.end, loaded);
		}

		const bool all_seen = start >= part.all_from && start + KEYS <= part.all_to;
		[[unroll]] for (uint i = 0u; i < OWN_QUERIES; i++) {
			if (has_query) {
				const uint row = (own + i) * SCORE_STRIDE;
				vec4 shares[SOFTMAX_UNITS][2];
				float most = LOWEST;
				[[unroll]] for (uint j = 0u; j < SOFTMAX_UNITS; j++) {
					[[unroll]] for (uint n = 0u; n < 2u; n++) {
						const uint at = 2u * (j * QUERY_THREADS + lane) + n;
						const vec4 score = score_scale * uintBitsToFloat(scores[row + at]);
						shares[j][n] = capped(biased(score, own + i, start + 4u * at));
						if (!all_seen) {
							shares[j][n] = only_seen(shares[j][n], start + 4u * at, query_first[own + i], query_cells[own + i]);
						}
						most = max(most, greatest_of(shares[j][n]));
					}
				}
				if (QUERY_THREADS > 1u) {
					most = subgroupClusteredMax(most, QUERY_THREADS);
				}
				float shrink = 1.0;
				if (most > greatest[i] + HEADROOM) {
					shrink = exp2(greatest[i] - most);
					greatest[i] = most;
				}
				// Where a query has seen nothing yet, its shares must come out as 0.
				const float reference = max(greatest[i], 0.5 * LOWEST);
				total[i] *= shrink;
				[[unroll]] for (uint j = 0u; j < SOFTMAX_UNITS; j++) {
					shares[j] = vec4[2](exp2(shares[j][0] - reference), exp2(shares[j][1] - reference));
					total[i] += sum_of(shares[j][0] + shares[j][1]);
				}
				subgroupBarrier(); // the query's scores are read by all of its threads
				[[unroll]] for (uint j = 0u; j < SOFTMAX_UNITS; j++) {
					scores[row + j * QUERY_THREADS + lane] = to_halves(shares[j][0], shares[j][1]);
				}
				if (lane == 0u) {
					shrinks[own + i] = shrink;
				}
			}
		}
		barrier();

		bool is_shrinking = false;
		for (uint i = gl_SubgroupInvocationID; i < 16u * BLOCKS; i += SUBGROUP_SIZE) {
			is_shrinking = is_shrinking || shrinks[down * BLOCKS * 16u + i] != 1.0;
		}
		if (subgroupAny(is_shrinking)) {
			[[unroll]] for (uint b = 0u; b < BLOCKS; b++) {
				SUM by; // in all columns the same: the stride is 0
				coopMatLoad(by, shrinks, (down * BLOCKS + b) * 16u, 0u, gl_CooperativeMatrixLayoutColumnMajor);
				[[unroll]] for (uint d = 0u; d < OWN_DIM_BLOCKS; d++) {
					sums[b][d] *= by;
				}
			}
		}
		[[unroll]] for (uint k = 0u; k < KEYS / 16u; k++) {
			LEFT shares[BLOCKS];
			[[unroll]] for (uint b = 0u; b < BLOCKS; b++) {
				const uint at = (down * BLOCKS + b) * 16u * SCORE_STRIDE + 2u * k;
				coopMatLoad(shares[b], scores, at, SCORE_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
			}
			[[unroll]] for (uint d = 0u; d < OWN_DIM_BLOCKS; d++) {
				const uint block = across * OWN_DIM_BLOCKS + d;
				if (DIM_BLOCKS % ACROSS == 0u || block < DIM_BLOCKS) {
					RIGHT values;
					coopMatLoad(values, tile, k * 16u * TILE_STRIDE + 2u * block, TILE_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
					[[unroll]] for (uint b = 0u; b < BLOCKS; b++) {
						sums[b][d] = coopMatMulAdd(shares[b], values, sums[b][d]);
					}
				}
			}
		}
		barrier();
	}

	[[unroll]] for (uint i = 0u; i < OWN_QUERIES; i++) {
		if (has_query) {
			if (QUERY_THREADS > 1u) {
				total[i] = subgroupClusteredAdd(total[i], QUERY_THREADS);
			}
			if (lane == 0u) {
				shrinks[own + i] = part.parts == 1u ? 1.0 / whole_total(own + i, greatest[i], total[i]) : 1.0;
				if (part.parts > 1u) {
					leave_totals(own + i, greatest[i], total[i]);
				}
			}
		}
	}
	barrier();
	const uint out_at = gl_SubgroupID * 16u * OUT_STRIDE;
	const uint first_vector = across * OWN_DIM_BLOCKS * 4u;
	[[unroll]] for (uint b = 0u; b < BLOCKS; b++) {
		[[unroll]] for (uint d = 0u; d < OWN_DIM_BLOCKS; d++) {
			coopMatStore(sums[b][d], tile, out_at + 4u * d, OUT_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
		}
		subgroupBarrier();
		[[unroll]] for (uint i = 0u; i < 64u * OWN_DIM_BLOCKS / SUBGROUP_SIZE; i++) {
			const uint at = i * SUBGROUP_SIZE + gl_SubgroupInvocationID;
			const uint row = at / (4u * OWN_DIM_BLOCKS);
			const uint vector = at % (4u * OWN_DIM_BLOCKS);
			const uint query = (down * BLOCKS + b) * 16u + row;
			if (first_vector + vector < HEAD_SIZE / 4u && query_cells[query] != 0u) {
				const vec4 sum = uintBitsToFloat(tile[out_at + row * OUT_STRIDE + vector]);
				work4[sums_at(part, query, first_vector + vector)] = shrinks[query] * sum;
			}
		}
		subgroupBarrier();
	}
	leave_count(part.parts);
}
