// The k largest of the entries of a list, in stages: each group writes the best k of CHUNK entries,
// best first; the next stage's list is what they wrote. The last stage has one group and writes the
// state's picks. Where there are fewer than k, entries with the id NONE follow.
//
// A bitonic sort in shared memory (Batcher 1968).
//
// Defines    GROUP_SIZE
//            CHUNK  entries for a group, a power of two, at least 2 * GROUP_SIZE
// Dispatch   (count / CHUNK, 1, 1)

#include "bindings.glslh"
#include "state.glslh"

#include "entries.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint values; // offsets in floats
	uint ids; // or NONE: the first stage
	uint count; // entries in the list
	uint k; // at most CHUNK and MAX_PICKS
	uint out_values;
	uint out_ids; // or NONE: the last stage
	uint pad[2];
}
params;

shared float chunk_values[CHUNK];
shared uint chunk_ids[CHUNK];

// Puts the better of the entries at `i` and `j` first, or last where `is_reverse`.
void order(const uint i, const uint j, const bool is_reverse) {
	const Entry first = Entry(chunk_values[i], chunk_ids[i]);
	const Entry second = Entry(chunk_values[j], chunk_ids[j]);
	if (is_better(second, first) != is_reverse) {
		chunk_values[i] = second.value;
		chunk_ids[i] = second.id;
		chunk_values[j] = first.value;
		chunk_ids[j] = first.id;
	}
}

void main() {
	const uint thread = gl_LocalInvocationID.x;
	const uint start = gl_WorkGroupID.x * CHUNK;
	for (uint i = thread; i < CHUNK; i += GROUP_SIZE) {
		Entry entry = NO_ENTRY;
		if (start + i < params.count) {
			entry = read_entry(params.values, params.ids, start + i);
		}
		chunk_values[i] = entry.value;
		chunk_ids[i] = entry.id;
	}

	for (uint run = 2u; run <= CHUNK; run *= 2u) {
		for (uint step = run / 2u; step > 0u; step /= 2u) {
			barrier();
			for (uint i = thread; i < CHUNK / 2u; i += GROUP_SIZE) {
				const uint low = i & (step - 1u);
				const uint place = 2u * (i - low) + low;
				order(place, place + step, (place & run) != 0u);
			}
		}
	}
	barrier();
	for (uint i = thread; i < params.k; i += GROUP_SIZE) {
		const Entry entry = Entry(chunk_values[i], chunk_ids[i]);
		write_entry(params.out_values, params.out_ids, gl_WorkGroupID.x * params.k + i, entry);
	}
}
