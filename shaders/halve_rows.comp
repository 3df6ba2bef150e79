// y[r] = x[r] / scale[r] as float16, for products by matrices
//
// One group for each row r. The scale is the power of two that brings the row's largest value to
// between 2^13 and 2^14: float16 then neither overflows nor loses what matters, whatever a model's
// activations are. A row of y is width / 2 floats with two float16 each, the scale, and three floats
// of padding, so that rows start at multiples of four.
//
// Defines    GROUP_SIZE
// Dispatch   (rows, 1, 1)

#include "bindings.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint width; // values in a row, a multiple of 32
	uint x; // offsets in floats
	uint y;
	uint count_at; // word of the state that holds the number of rows
}
params;

shared float group_largest[GROUP_SIZE];

float largest_of(const vec4 values) {
	const vec4 sizes = abs(values);
	return max(max(sizes.x, sizes.y), max(sizes.z, sizes.w));
}

void main() {
	const uint row = gl_WorkGroupID.x;
	if (row >= state[params.count_at]) {
		return; // the whole group
	}
	const uint thread = gl_LocalInvocationID.x;
	const uint x = (params.x + row * params.width) / 4u;
	const uint y = params.y + row * (params.width / 2u + 4u);

	float largest = 0.0;
	for (uint i = thread; i < params.width / 4u; i += GROUP_SIZE) {
		largest = max(largest, largest_of(work4[x + i]));
	}
	group_largest[thread] = largest;
	for (uint size = GROUP_SIZE / 2; size > 0u; size >>= 1u) {
		barrier();
		if (thread < size) {
			group_largest[thread] = max(group_largest[thread], group_largest[thread + size]);
		}
	}
	barrier();

	// The exponent bits of the largest value; none so small that the inverse would be infinite.
	const uint exponent = max(floatBitsToUint(group_largest[0]) >> 23u, 14u);
	const float inverse = uintBitsToFloat((267u - exponent) << 23u);
	for (uint i = thread; i < params.width / 8u; i += GROUP_SIZE) {
		const vec4 first = work4[x + 2u * i] * inverse;
		const vec4 second = work4[x + 2u * i + 1u] * inverse;
		work4[y / 4u + i] = uintBitsToFloat(uvec4(packHalf2x16(first.xy), packHalf2x16(first.zw),
				packHalf2x16(second.xy), packHalf2x16(second.zw)));
	}
	if (thread == 0u) {
		work[y + params.width / 2u] = uintBitsToFloat((exponent - 13u) << 23u);
	}
}
