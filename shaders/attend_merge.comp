// y[r, h] = sum over the parts s of exp(greatest[s] - greatest) * sums[s], divided by the same sum
// of total[s]: joins what attend_split.comp wrote.
//
// One group for a head of a row; a thread sums one dimension at a time.
//
// Defines    GROUP_SIZE
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

void main() {
	const uint head = gl_WorkGroupID.x;
	const uint row = gl_WorkGroupID.y;
	if (row >= state[STATE_ROWS]) {
		return; // the whole group
	}
	const uint size = params.head_size + 4u;
	const uint parts =
			params.partials + (row * gl_NumWorkGroups.x + head) * params.n_parts * size;
	float greatest = work[parts];
	for (uint s = 1u; s < params.n_parts; s++) {
		greatest = max(greatest, work[parts + s * size]);
	}
	float total = 0.0;
	for (uint s = 0u; s < params.n_parts; s++) {
		total += exp(work[parts + s * size] - greatest) * work[parts + s * size + 1u];
	}
	const uint y = params.y + row * params.y_stride + head * params.head_size;
	for (uint d = gl_LocalInvocationID.x; d < params.head_size; d += GROUP_SIZE) {
		float sum = 0.0;
		for (uint s = 0u; s < params.n_parts; s++) {
			sum += exp(work[parts + s * size] - greatest) * work[parts + s * size + 4u + d];
		}
		work[y + d] = sum / total;
	}
}
