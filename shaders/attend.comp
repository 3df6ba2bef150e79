// y[r, h] = softmax over the cells j that row r sees of (q[r, h] . K[j]), times V[j]
//
// A row at position p sees cells max(0, p - window + 1) to p; all up to p where window is 0. q is
// scaled already. One group for a head of a row. GROUP_SIZE cells at a time: a thread scores one
// cell, then sums up to four dimensions over all of them; the softmax is rescaled as it goes
// (Milakov and Gimelshein 2018). Sums in float32.
//
// Defines    GROUP_SIZE  128: D is at most 4 * GROUP_SIZE
// Dispatch   (H, rows, 1)

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint q; // offsets in floats
	uint q_stride; // floats from row to row
	uint y;
	uint y_stride;
	uint k_cache; // offsets in words
	uint v_cache;
	uint heads; // H
	uint kv_heads; // G
	uint head_size; // D, a multiple of 8
	uint window; // or 0
	uint pad[2];
}
params;

shared vec4 query[GROUP_SIZE];
shared float scores[GROUP_SIZE];
shared float shares[GROUP_SIZE]; // exp(score - greatest)

float score(const uint cell, const uint kv_head) {
	const uint words = params.head_size / 2u; // of a head of a cell
	const uint key = (params.k_cache + (cell * params.kv_heads + kv_head) * words) / 4u;
	vec4 sum = vec4(0.0);
	for (uint i = 0u; i < words / 4u; i++) {
		const uvec4 halves = cache4[key + i];
		sum += query[2u * i] * vec4(unpackHalf2x16(halves.x), unpackHalf2x16(halves.y));
		sum += query[2u * i + 1u] * vec4(unpackHalf2x16(halves.z), unpackHalf2x16(halves.w));
	}
	return sum.x + sum.y + sum.z + sum.w;
}

void main() {
	const uint head = gl_WorkGroupID.x;
	const uint row = gl_WorkGroupID.y;
	if (row >= state[STATE_ROWS]) {
		return; // the whole group
	}
	const uint thread = gl_LocalInvocationID.x;
	const uint kv_head = head / (params.heads / params.kv_heads);
	const uint position = state[STATE_POSITIONS + row];
	const bool all = params.window == 0u || position < params.window;
	const uint first = all ? 0u : position - params.window + 1u;
	const uint pairs = params.head_size / 2u;
	const uint values = params.v_cache + kv_head * pairs + thread;

	if (thread < params.head_size / 4u) {
		query[thread] = work4[(params.q + row * params.q_stride + head * params.head_size) / 4u + thread];
	}
	barrier();

	float greatest = -3.0e38;
	float total = 0.0;
	vec2 sums[2] = vec2[2](vec2(0.0), vec2(0.0)); // pairs `thread` and `thread + GROUP_SIZE`
	for (uint tile = first; tile <= position; tile += GROUP_SIZE) {
		const uint n_cells = min(position + 1u - tile, GROUP_SIZE);
		const float own = thread < n_cells ? score(tile + thread, kv_head) : -3.0e38;
		scores[thread] = own;
		barrier();
		const float before = greatest;
		for (uint j = 0u; j < n_cells; j++) {
			greatest = max(greatest, scores[j]);
		}
		shares[thread] = exp(own - greatest);
		barrier();
		const float shrink = exp(before - greatest);
		total *= shrink;
		sums[0] *= shrink;
		sums[1] *= shrink;
		for (uint j = 0u; j < n_cells; j++) {
			const uint value = values + (tile + j) * params.kv_heads * pairs;
			total += shares[j];
			if (thread < pairs) {
				sums[0] += shares[j] * unpackHalf2x16(cache[value]);
			}
			if (thread + GROUP_SIZE < pairs) {
				sums[1] += shares[j] * unpackHalf2x16(cache[value + GROUP_SIZE]);
			}
		}
	}

	const uint y = params.y + row * params.y_stride + head * params.head_size;
	for (uint i = 0u; i < 2u; i++) {
		const uint pair = thread + i * GROUP_SIZE;
		if (pair < pairs) {
			work[y + 2u * pair] = sums[i].x / total;
			work[y + 2u * pair + 1u] = sums[i].y / total;
		}
	}
}
