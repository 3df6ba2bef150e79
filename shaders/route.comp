// choice[r] = the numbers of the U experts whose score plus bias is largest, best first, and their shares
//
// score[e] = exp(logits[r, e]) over the sum of that over all e, or 1 / (1 + exp(-logits[r, e])). A share is the
// score, where `normalised` over the sum of the U shares, times `scale` and gains[e]. Of equal ones the first
// counts as larger. There may be no bias and no gains (NONE).
//
// One group for each row r: a thread counts, for each of its experts, how many are better. What is no number
// is better than none, so that all of the row's experts are ones that exist.
//
// Defines    GROUP_SIZE
//            MAX_EXPERTS, MAX_USED
// Dispatch   (rows, 1, 1)

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint logits; // offsets in floats
	uint choice;
	uint bias; // offsets in words of the weights, or NONE
	uint gains;
	uint experts; // E
	uint used; // U
	uint scoring; // 0: softmax; 1: sigmoid
	uint normalised;
	float scale;
	uint pad_1;
	uint pad_2;
	uint pad_3;
}
params;

const uint SIGMOID = 1u;

shared float scores[MAX_EXPERTS];
shared float ranked[MAX_EXPERTS]; // with the bias
shared uint chosen[MAX_USED];

void main() {
	const uint row = gl_WorkGroupID.x;
	if (row >= state[STATE_ROWS]) {
		return; // the whole group
	}
	const uint thread = gl_LocalInvocationID.x;
	const uint logits = params.logits + row * params.experts;
	for (uint e = thread; e < params.experts; e += GROUP_SIZE) {
		scores[e] = work[logits + e];
	}
	for (uint u = thread; u < params.used; u += GROUP_SIZE) {
		chosen[u] = 0u;
	}
	barrier();

	float greatest = scores[0];
	for (uint e = 1u; e < params.experts; e++) {
		greatest = max(greatest, scores[e]);
	}
	float total = 0.0;
	for (uint e = 0u; e < params.experts; e++) {
		total += exp(scores[e] - greatest);
	}
	barrier();
	for (uint e = thread; e < params.experts; e += GROUP_SIZE) {
		const float score = params.scoring == SIGMOID ? 1.0 / (1.0 + exp(-scores[e])) : exp(scores[e] - greatest) / total;
		scores[e] = score;
		ranked[e] = params.bias == NONE ? score : score + uintBitsToFloat(weights[params.bias + e]);
	}
	barrier();
	for (uint e = thread; e < params.experts; e += GROUP_SIZE) {
		uint rank = 0u;
		for (uint other = 0u; other < params.experts; other++) {
			const bool is_better = ranked[other] > ranked[e] || (ranked[other] == ranked[e] && other < e);
			rank += is_better ? 1u : 0u;
		}
		if (rank < params.used) {
			chosen[rank] = e;
		}
	}
	barrier();

	float sum = 0.0;
	for (uint u = 0u; u < params.used; u++) {
		sum += scores[chosen[u]];
	}
	const float factor = params.normalised == 0u ? params.scale : params.scale / sum;
	const uint choice = params.choice + row * 2u * params.used;
	for (uint u = thread; u < params.used; u += GROUP_SIZE) {
		const uint e = chosen[u];
		const float gain = params.gains == NONE ? 1.0 : uintBitsToFloat(weights[params.gains + e]);
		work[choice + u] = float(e);
		work[choice + params.used + u] = scores[e] * factor * gain;
	}
}
