// y[r, h] = softmax over the cells j that row r sees of (q[r, h] . K[j]), times V[j]
//
// A row at position p sees cells max(0, p - window + 1) to p; all up to p where window is 0. q is
// scaled already. Cells up to p must have been written. One group, a subgroup of eight, for a head of a
// row. Its threads are next to each other in a head, so that keys, values and q come as vectors
// (lanes.glslh); eight cells at a time, which lie in one page, have their scores in one vector. The
// softmax is rescaled as it goes (Milakov and Gimelshein 2018). All in float32 but the cache. For
// drivers that run on a CPU, where subgroups of eight were found.
//
// Defines    GROUP_SIZE  8
//            HEAD_SIZE  a multiple of 8
// Dispatch   (H, rows, 1)

#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

#include "bindings.glslh"
#include "state.glslh"

#include "lanes.glslh"
#include "pages.glslh"

#include "lane_totals.glslh"
#include "soft_cap.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uvec2 q; // address
	uvec2 cache_at; // address of the cache
	uint q_stride; // floats from row to row
	uint y; // offset in floats
	uint y_stride;
	uint k_cache; // offsets in words, in a page
	uint v_cache;
	uint heads; // H
	uint kv_heads; // G
	uint window; // or 0
	float soft_cap; // of scores; or 0
	uint pad_1;
	uint pad_2;
	uint pad_3;
}
params;

const uint RUNS = HEAD_SIZE / LANES; // of a head
const float LOWEST = -3.0e38;

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint head = gl_WorkGroupID.x;
	const uint lane = gl_SubgroupInvocationID;
	const bool is_used = row < state[STATE_ROWS];
	const uint position = state[STATE_POSITIONS + row];
	const uint table = table_of(row);
	const uint first = params.window == 0u || position < params.window ? 0u : position - params.window + 1u;
	const uint kv_head = head / (params.heads / params.kv_heads);
	const uint cell_runs = params.kv_heads * RUNS;
	const uint end = is_used ? position + 1u : 0u; // a return would mask all that follows
	FloatRun q = FloatRun(params.q) + (row * params.q_stride + head * HEAD_SIZE) / LANES;
	HalfRun keys = HalfRun(params.cache_at) + (params.k_cache / 4u + kv_head * RUNS);
	HalfRun values = HalfRun(params.cache_at) + (params.v_cache / 4u + kv_head * RUNS);

	float sums[RUNS];
	[[unroll]] for (uint d = 0u; d < RUNS; d++) {
		sums[d] = 0.0;
	}
	float greatest = LOWEST;
	float total = 0.0; // of the own cells' shares
	for (uint start = first / LANES * LANES; start < end; start += LANES) {
		const uint page = PAGE_START(table, start / PAGE_CELLS);
		uint cell[LANES]; // where each begins; those that are not seen are one that is
		[[unroll]] for (uint i = 0u; i < LANES; i++) {
			cell[i] = page + clamp(start + i, first, position) % PAGE_CELLS * cell_runs;
		}
		float products[LANES];
		[[unroll]] for (uint i = 0u; i < LANES; i++) {
			HalfRun key = keys + cell[i];
			products[i] = 0.0;
			[[unroll]] for (uint d = 0u; d < RUNS; d++) {
				products[i] = fma(lane_float(q + d), lane_half(key + d), products[i]);
			}
		}
		const bool is_seen = start + lane >= first && start + lane <= position;
		const float score = is_seen ? soft_capped(total_of_lane(products), params.soft_cap) : LOWEST;
		const float before = greatest;
		greatest = max(before, greatest_of_lanes(score));
		const float shrink = exp(before - greatest);
		const float share = is_seen ? exp(score - greatest) : 0.0;
		total = fma(total, shrink, share);
		float shares[LANES];
		[[unroll]] for (uint i = 0u; i < LANES; i++) {
			shares[i] = subgroupShuffle(share, i);
		}
		[[unroll]] for (uint d = 0u; d < RUNS; d++) {
			float sum = shrink * sums[d];
			[[unroll]] for (uint i = 0u; i < LANES; i++) {
				HalfRun value = values + cell[i];
				sum = fma(shares[i], lane_half(value + d), sum);
			}
			sums[d] = sum;
		}
	}

	if (is_used) {
		const float factor = 1.0 / sum_of_lanes(total);
		const uint y = params.y + row * params.y_stride + head * HEAD_SIZE + lane;
		[[unroll]] for (uint d = 0u; d < RUNS; d++) {
			work[y + d * LANES] = factor * sums[d];
		}
	}
}
