// The largest value of each of `n_segments` disjoint parts of a list: part s holds every
// n_segments-th value from s on. The k-th largest of these is a lower bound for the k-th largest of
// the list, so that top_k.comp need sort only what reaches it.
//
// One thread for a part of a row's list. A value that is not finite sets the state's flag and counts as the lowest.
//
// Defines    GROUP_SIZE
// Dispatch   (n_segments / GROUP_SIZE, rows, 1)

#include "bindings.glslh"
#include "state.glslh"

#include "entries.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint values; // offset in floats
	uint count;
	uint n_segments;
	uint maxima; // offset in floats
	uint in_stride; // floats from a row's list to the next one's
	uint out_stride;
	uint pad_1;
	uint pad_2;
}
params;

void main() {
	const uint segment = gl_GlobalInvocationID.x;
	if (segment >= params.n_segments) {
		return;
	}
	const uint row = gl_WorkGroupID.y;
	float greatest = LOWEST;
	bool is_finite = true;
	for (uint i = segment; i < params.count; i += params.n_segments) {
		greatest = max(greatest, read_entry(params.values + row * params.in_stride, NONE, i, is_finite).value);
	}
	report_finite(is_finite);
	work[params.maxima + row * params.out_stride + segment] = greatest;
}
