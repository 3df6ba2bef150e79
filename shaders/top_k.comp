// The k largest of the entries of a list, in stages: each group writes the best k of CHUNK entries,
// best first; the next stage's list is what they wrote. The last stage has one group and writes the
// state's picks. Each row has a list of its own. Where there are fewer than k, entries with the id NONE follow.
//
// Entries below the threshold are left out first: a chunk seldom has more than a few others. They
// are sorted in shared memory (Batcher 1968).
//
// Defines    GROUP_SIZE
//            CHUNK  entries for a group, a power of two
// Dispatch   (count / CHUNK, rows, 1)

#include "bindings.glslh"
#include "state.glslh"

#include "entries.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint values; // offsets in floats
	uint ids; // or NONE: the first stage
	uint count; // entries in the list
	uint k; // at most CHUNK and MAX_PICKS
	uint threshold; // at most the k-th largest value, or NONE
	uint out_values;
	uint out_ids; // or NONE: the last stage
	uint in_stride; // floats from a row's list to the next one's
	uint threshold_stride;
	uint out_stride;
	uint pad_1;
	uint pad_2;
}
params;

shared float kept_values[CHUNK];
shared uint kept_ids[CHUNK];
shared uint n_kept;

void keep(const uint place, const Entry entry) {
	kept_values[place] = entry.value;
	kept_ids[place] = entry.id;
}

// Puts the better of the entries at `i` and `j` first, or last where `is_reverse`.
void order(const uint i, const uint j, const bool is_reverse) {
	const Entry first = Entry(kept_values[i], kept_ids[i]);
	const Entry second = Entry(kept_values[j], kept_ids[j]);
	if (is_better(second, first) != is_reverse) {
		keep(i, second);
		keep(j, first);
	}
}

void main() {
	const uint thread = gl_LocalInvocationID.x;
	const uint start = gl_WorkGroupID.x * CHUNK;
	const uint row = gl_WorkGroupID.y;
	const uint values = params.values + row * params.in_stride;
	const uint ids = ids_of_row(params.ids, row * params.in_stride);
	const float threshold = params.threshold == NONE ? LOWEST : work[params.threshold + row * params.threshold_stride];
	if (thread == 0u) {
		n_kept = 0u;
	}
	barrier();
	bool is_finite = true;
	for (uint i = start + thread; i < min(start + CHUNK, params.count); i += GROUP_SIZE) {
		const Entry entry = read_entry(values, ids, i, is_finite);
		if (entry.value >= threshold && entry.id != NONE) {
			keep(atomicAdd(n_kept, 1u), entry);
		}
	}
	report_finite(is_finite);
	barrier();
	const uint n_entries = n_kept;
	uint size = 1u; // to sort: a power of two
	while (size < n_entries) {
		size *= 2u;
	}
	for (uint i = n_entries + thread; i < size; i += GROUP_SIZE) {
		keep(i, NO_ENTRY);
	}

	for (uint run = 2u; run <= size; run *= 2u) {
		for (uint step = run / 2u; step > 0u; step /= 2u) {
			barrier();
			for (uint i = thread; i < size / 2u; i += GROUP_SIZE) {
				const uint low = i & (step - 1u);
				const uint place = 2u * (i - low) + low;
				order(place, place + step, (place & run) != 0u);
			}
		}
	}
	barrier();
	for (uint i = thread; i < params.k; i += GROUP_SIZE) {
		const Entry entry = i < n_entries ? Entry(kept_values[i], kept_ids[i]) : NO_ENTRY;
		write_entry(params.out_values, params.out_ids, row * params.out_stride + gl_WorkGroupID.x * params.k + i, entry);
	}
}
