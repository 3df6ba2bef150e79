// A causal convolution of each channel c over the rows of a sequence, u = x:
//
//     y[r, c] = silu(sum over j of weight[c, j] * u[r - (taps - 1) + j, c])
//
// Gated, a row of x has three parts of `width` values, u is the first times the third, and
//
//     y[r, c] = second[r, c] * sum over j of weight[c, j] * u[r - (taps - 1) + j, c]
//
// The slot of a sequence has the taps - 1 rows of u that came before, the oldest first. One thread for
// a channel of a row; that of the first row of a sequence does those that look at the slot, too, as
// it then changes what is there. y must not overlap x.
//
// Defines    GROUP_SIZE
// Dispatch   (width / GROUP_SIZE, rows, 1)

#include "bindings.glslh"
#include "gate.glslh"
#include "state.glslh"
#include "pages.glslh"
#include "slots.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint weight; // float32, in words
	uint taps; // from 2 up
	uint x; // offsets in floats
	uint y;
	uint width; // channels
	uint is_gated;
	uint slab; // offset in words, in a slot
	uint table_quads; // of a sequence
}
params;

float input_at(const uint row, const uint channel) {
	if (params.is_gated == 0u) {
		return work[params.x + row * params.width + channel];
	}
	const uint at = params.x + 3u * row * params.width + channel;
	return work[at] * work[at + 2u * params.width];
}

void put(const uint row, const uint channel, const float sum) {
	const uint second = params.x + (3u * row + 1u) * params.width + channel;
	work[params.y + row * params.width + channel] = params.is_gated == 0u
			? activated(sum, ACTIVATION_SILU)
			: work[second] * sum;
}

float weight_at(const uint channel, const uint tap) {
	return uintBitsToFloat(weights[params.weight + channel * params.taps + tap]);
}

// Input number `at` of a sequence, counted from the oldest in its slot; `first` is its first row.
float history_at(const uint first, const uint channel, const uint at) {
	const uint held = params.taps - 1u;
	if (at >= held) {
		return input_at(first + at - held, channel);
	}
	const uint slot = slot_start(first, params.table_quads) + params.slab;
	const bool is_begun = state[STATE_POSITIONS + first] > 0u;
	return is_begun ? uintBitsToFloat(cache[slot + at * params.width + channel]) : 0.0;
}

void begin_sequence(const uint first, const uint channel) {
	const uint held = params.taps - 1u;
	const uint rows = sequence_end(first) - first;
	for (uint row = 0u; row < min(rows, held); row++) {
		float sum = 0.0;
		for (uint tap = 0u; tap < params.taps; tap++) {
			sum += weight_at(channel, tap) * history_at(first, channel, row + tap);
		}
		put(first + row, channel, sum);
	}
	const uint slot = slot_start(first, params.table_quads) + params.slab;
	for (uint at = 0u; at < held; at++) { // each is read before it is written
		cache[slot + at * params.width + channel] = floatBitsToUint(history_at(first, channel, rows + at));
	}
}

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint channel = gl_GlobalInvocationID.x;
	if (row >= state[STATE_ROWS] || channel >= params.width) {
		return;
	}
	const uint held = params.taps - 1u;
	uint before = 0u; // rows of the sequence in this run, as far as they count
	while (before < min(row, held) && is_same_sequence(row, row - before - 1u)) {
		before++;
	}
	if (before == 0u) {
		begin_sequence(row, channel);
	} else if (before == held) {
		float sum = 0.0;
		for (uint tap = 0u; tap < params.taps; tap++) {
			sum += weight_at(channel, tap) * input_at(row - held + tap, channel);
		}
		put(row, channel, sum);
	}
}
