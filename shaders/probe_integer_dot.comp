// The state's first pick becomes 1 where the device multiplies signed bytes rightly, else 0.
//
// Defines    GROUP_SIZE, HAS_INTEGER_DOT
// Dispatch   (1, 1, 1)

#include "bindings.glslh"
#include "integer_dot.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

shared uint wrong;

void main() {
	const bool is_first = gl_LocalInvocationID.x == 0u;
	if (is_first) {
		wrong = 0u;
	}
	barrier();
	// bytes of every sign, from numbers that the compiler cannot know; ROWS may be any. Those of the
	// first thread are far below 0, so that their sum takes more than 16 bits.
	const uint some = is_first ? state[STATE_ROWS] | 0x80808080u : (gl_LocalInvocationID.x + state[STATE_ROWS]) * 0x9E3779B9u;
	const uint other = is_first ? some : some * 0x85EBCA6Bu ^ 0x80FF7F01u;
	int expected = 0;
	for (uint shift = 0u; shift < 32u; shift += 8u) {
		expected += (int(some << (24u - shift)) >> 24) * (int(other << (24u - shift)) >> 24);
	}
	if (dot_bytes(some, other) != expected) {
		atomicOr(wrong, 1u);
	}
	barrier();
	if (is_first) {
		state[STATE_PICK_IDS] = 1u - wrong;
	}
}
