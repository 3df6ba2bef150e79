// y[r, h] = sum over the parts s of exp(greatest[s] - greatest) * sums[s], divided by the same sum
// of total[s]: joins what attend_split.comp wrote.
//
// One group for a head of a row; a thread finds the share of one part, then sums one dimension at a
// time over all parts.
//
// Defines    GROUP_SIZE  at least as many as there are parts
// Dispatch   (H, rows, 1)

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint partials; // offsets in floats
	uint y;
	uint y_stride; // floats from row to row
	uint head_size; // D
	uint n_parts;
	uint pad[3];
}
params;

shared vec2 found[GROUP_SIZE]; // of each part: greatest and total
shared float shares[GROUP_SIZE];

void main() {
	const uint thread = gl_LocalInvocationID.x;
	const uint head = gl_WorkGroupID.x;
	const uint row = gl_WorkGroupID.y;
	if (row >= state[STATE_ROWS]) {
		return; // the whole group
	}
	const uint size = params.head_size + 4u;
	const uint parts =
			params.partials + (row * gl_NumWorkGroups.x + head) * params.n_parts * size;
	if (thread < params.n_parts) {
		const uint part = parts + thread * size;
		found[thread] = vec2(work[part], work[part + 1u]);
	}
	barrier();
	float greatest = found[0].x;
	for (uint s = 1u; s < params.n_parts; s++) {
		greatest = max(greatest, found[s].x);
	}
	float total = 0.0;
	for (uint s = 0u; s < params.n_parts; s++) {
		total += exp(found[s].x - greatest) * found[s].y;
	}
	if (thread < params.n_parts) {
		shares[thread] = exp(found[thread].x - greatest) / total;
	}
	barrier();
	const uint y = params.y + row * params.y_stride + head * params.head_size;
	for (uint d = thread; d < params.head_size; d += GROUP_SIZE) {
		float sum = 0.0;
		for (uint s = 0u; s < params.n_parts; s++) {
			sum += shares[s] * work[parts + s * size + 4u + d];
		}
		work[y + d] = sum;
	}
}
