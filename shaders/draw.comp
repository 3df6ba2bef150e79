// Draws a token for each row from its picks, best first, and says so in the state. Where it advances, the token is the
// next one of its row: a run that follows goes on from there.
//
// A group draws for a row, a thread of it for a candidate. The draw is python/llm/gpu/sampler.py's, with
// the same float32 operations in the same order. Candidates that a mask or a bias forbids do not count;
// where none is left, the token is NONE.
//
// Defines    GROUP_SIZE    64: the most candidates
// Dispatch   (rows, 1, 1)

#include "bindings.glslh"
#include "philox.glslh"
#include "sample_weight.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint k; // picks of a row
	uint drawn; // number of the first row's token among those drawn
	uint advances; // 1: the tokens are the input of the next run
	uint pad_1;
}
params;

const float FORBIDDEN = -5e29; // at most this: half of MASKED in python/llm/gpu/adjustments.py

shared float plain[GROUP_SIZE]; // weights at temperature 1
shared vec2 sums[2][GROUP_SIZE]; // of weights at temperature 1, and at the wanted one
shared uint n_allowed;
shared uint n_kept;
shared uint chosen;

void main() {
	const uint row = gl_WorkGroupID.x;
	const uint i = gl_LocalInvocationID.x;
	const uint draw = STATE_DRAWS + row * MAX_DRAW_WORDS;
	const uint pick = row * params.k + i;
	const uint most = clamp(state[draw + 1u], 1u, min(params.k, GROUP_SIZE));
	if (i == 0u) {
		n_allowed = 0u;
	}
	barrier();
	const bool is_pick = i < most && state[STATE_PICK_IDS + pick] != NONE;
	const float logit = is_pick ? uintBitsToFloat(state[STATE_PICK_VALUES + pick]) : FORBIDDEN;
	if (logit > FORBIDDEN) {
		atomicAdd(n_allowed, 1u);
	}
	const float largest = uintBitsToFloat(state[STATE_PICK_VALUES + row * params.k]);
	vec2 both = vec2(0.0);
	if (logit > FORBIDDEN) {
		both.x = sample_weight(logit - largest, 1.44269502);
		both.y = sample_weight(logit - largest, uintBitsToFloat(state[draw]));
	}
	plain[i] = both.x;
	sums[0][i] = both;
	uint side = 0u;
	for (uint step = 1u; step < GROUP_SIZE; step *= 2u) {
		barrier();
		const vec2 sum = sums[side][i];
		sums[1u - side][i] = i >= step ? sum + sums[side][i - step] : sum;
		side = 1u - side;
	}
	barrier();

	const uint k = n_allowed; // they stand best first
	if (i == 0u) {
		n_kept = k;
		chosen = k;
	}
	barrier();
	const float share = uintBitsToFloat(state[draw + 2u]);
	const float least = uintBitsToFloat(state[draw + 3u]);
	if (i < k && share < 1.0 && sums[side][i].x >= share * sums[side][k - 1u].x) {
		atomicMin(n_kept, i + 1u);
	}
	if (i < k && plain[i] < least) {
		atomicMin(n_kept, i);
	}
	barrier();
	const uint kept = max(1u, n_kept);
	const uvec2 seed = uvec2(state[draw + 4u], state[draw + 5u]);
	const float goal = uniform_number(seed, state[draw + 6u]) * sums[side][kept - 1u].y;
	if (i < min(kept, k) && sums[side][i].y > goal) {
		atomicMin(chosen, i);
	}
	barrier();
	if (i != 0u) {
		return;
	}
	const uint index = min(chosen, kept - 1u);
	const uint token = k == 0u ? NONE : state[STATE_PICK_IDS + row * params.k + index];
	state[STATE_DRAWN + params.drawn + row] = token;
	if (params.advances != 0u) {
		state[STATE_TOKENS + row] = token == NONE ? 0u : token;
		state[STATE_POSITIONS + row] += 1u;
		state[draw + 6u] += 1u;
		if (row == 0u) {
			state[STATE_ARRIVALS] = 0u; // of the next run's groups
		}
	}
}
