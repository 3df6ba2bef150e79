// Logits of tokens whose bit is not set become those of tokens that may not come, in place, row by
// row. The lowest bit of a word belongs to the first of its 32 tokens.
//
// One thread for a token.
//
// Defines    GROUP_SIZE
// Dispatch   (vocabulary / GROUP_SIZE, rows, 1)

#include "bindings.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint x; // offset of the first row of logits, in floats
	uint vocabulary; // V
	uint masks; // offset of the first row's words, in floats
	uint pad_1;
}
params;

const float MASKED = -1e30; // of python/llm/gpu/adjustments.py

void main() {
	const uint id = gl_GlobalInvocationID.x;
	const uint row = gl_WorkGroupID.y;
	if (id >= params.vocabulary) {
		return;
	}
	const uint words = (params.vocabulary + 31u) / 32u;
	const uint word = work_bits[params.masks + row * words + id / 32u];
	if ((word >> (id % 32u) & 1u) == 0u) {
		work[params.x + row * params.vocabulary + id] = MASKED;
	}
}
