// The largest of the entries of a list, in stages: each group finds the best of `chunk` entries; the
// next stage's list is what they found. The last stage has one group and writes the state's pick. Each row
// has a list of its own.
//
// Defines    GROUP_SIZE
// Dispatch   (count / chunk, rows, 1)

#include "bindings.glslh"
#include "state.glslh"

#include "entries.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint values; // offsets in floats
	uint ids; // or NONE: the first stage
	uint count; // entries in the list
	uint chunk; // entries for a group
	uint out_values;
	uint out_ids; // or NONE: the last stage
	uint in_stride; // floats from a row's list to the next one's
	uint out_stride;
}
params;

shared float best_values[GROUP_SIZE];
shared uint best_ids[GROUP_SIZE];

void main() {
	const uint thread = gl_LocalInvocationID.x;
	const uint row = gl_WorkGroupID.y;
	const uint values = params.values + row * params.in_stride;
	const uint ids = ids_of_row(params.ids, row * params.in_stride);
	const uint first = gl_WorkGroupID.x * params.chunk;
	const uint end = min(first + params.chunk, params.count);

	Entry best = NO_ENTRY;
	bool is_finite = true;
	for (uint i = first + thread; i < end; i += GROUP_SIZE) {
		const Entry entry = read_entry(values, ids, i, is_finite);
		if (is_better(entry, best)) {
			best = entry;
		}
	}
	report_finite(is_finite);
	best_values[thread] = best.value;
	best_ids[thread] = best.id;
	barrier();
	if (thread == 0u) {
		for (uint i = 1u; i < GROUP_SIZE; i++) {
			const Entry entry = Entry(best_values[i], best_ids[i]);
			if (is_better(entry, best)) {
				best = entry;
			}
		}
		write_entry(params.out_values, params.out_ids, row * params.out_stride + gl_WorkGroupID.x, best);
	}
}
