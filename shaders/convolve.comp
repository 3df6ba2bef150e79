// A causal convolution of each channel c over the rows of a sequence, u = x:
//
//     y[r, c] = silu(sum over j of weight[c, j] * u[r - (TAPS - 1) + j, c])
//
// Gated, a row of x has three parts of `width` values, u is the first times the third, and
//
//     y[r, c] = second[r, c] * sum over j of weight[c, j] * u[r - (TAPS - 1) + j, c]
//
// The slot of a sequence has the TAPS - 1 rows of u that came before, the oldest first. One thread for
// a channel of ROWS rows. The one that has the first row of a sequence does all those that look at the
// slot, as it then changes what is there. y must not overlap x.
//
// Defines    GROUP_SIZE, ROWS
//            TAPS  from 2 up
// Dispatch   (width / GROUP_SIZE, rows / ROWS, 1)

#extension GL_EXT_control_flow_attributes : require

#include "bindings.glslh"
#include "gate.glslh"
#include "state.glslh"
#include "pages.glslh"
#include "slots.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint weight; // float32, in words
	uint x; // offsets in floats
	uint y;
	uint width; // channels
	uint is_gated;
	uint slab; // offset in words, in a slot
	uint table_quads; // of a sequence
	uint pad_1;
}
params;

const uint HELD = TAPS - 1u; // rows in a slot

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

// The rows of a sequence, from its first one in this run on, that look at its slot.
void begin_sequence(const uint first, const uint channel, const float weight[TAPS]) {
	const uint rows = sequence_end(first) - first;
	const uint slot = slot_start(first, params.table_quads) + params.slab + channel;
	const bool is_begun = state[STATE_POSITIONS + first] > 0u;
	float near[2u * HELD]; // what was held, then the first rows
	[[unroll]] for (uint i = 0u; i < HELD; i++) {
		near[i] = is_begun ? uintBitsToFloat(cache[slot + i * params.width]) : 0.0;
		near[HELD + i] = input_at(first + min(i, rows - 1u), channel);
	}
	[[unroll]] for (uint i = 0u; i < HELD; i++) {
		if (i < rows) {
			float sum = 0.0;
			[[unroll]] for (uint tap = 0u; tap < TAPS; tap++) {
				sum += weight[tap] * near[i + tap];
			}
			put(first + i, channel, sum);
		}
	}
	[[unroll]] for (uint i = 0u; i < HELD; i++) {
		const float kept = rows < HELD ? near[rows + i] : input_at(first + rows - HELD + i, channel);
		cache[slot + i * params.width] = floatBitsToUint(kept);
	}
}

void main() {
	const uint start = gl_WorkGroupID.y * ROWS;
	const uint channel = gl_GlobalInvocationID.x;
	const uint end = min(start + ROWS, state[STATE_ROWS]);
	if (start >= end || channel >= params.width) {
		return;
	}
	float weight[TAPS];
	float near[TAPS]; // of the rows up to the one at hand
	[[unroll]] for (uint tap = 0u; tap < TAPS; tap++) {
		weight[tap] = uintBitsToFloat(weights[params.weight + channel * TAPS + tap]);
		near[tap] = tap > 0u && start + tap >= TAPS ? input_at(start + tap - TAPS, channel) : 0.0;
	}
	for (uint row = start; row < end; row++) {
		[[unroll]] for (uint tap = 0u; tap < HELD; tap++) {
			near[tap] = near[tap + 1u];
		}
		near[HELD] = input_at(row, channel);
		uint before = 0u; // rows of the sequence in this run, as far as they count
		while (before < min(row, HELD) && is_same_sequence(row, row - before - 1u)) {
			before++;
		}
		if (before == 0u) {
			begin_sequence(row, channel, weight);
		} else if (before == HELD) {
			float sum = 0.0;
			[[unroll]] for (uint tap = 0u; tap < TAPS; tap++) {
				sum += weight[tap] * near[tap];
			}
			put(row, channel, sum);
		}
	}
}
