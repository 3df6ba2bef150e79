// y[r] = value[r] / scale[r] as float16, for products by matrices. By SOURCE, value[r, i] is
//
//   0  x[r, i]
//   1  activation(x[r, i]) * up[r, i], a gated unit
//   2  x[r, i] * norm[i] / sqrt(mean over i of x[r, i]^2 + eps), an RMS norm
//
// One group for each row r. The scale is the power of two that brings the row's largest value to
// between 2^13 and 2^14: float16 then neither overflows nor loses what matters, whatever a model's
// activations are. include/halved_rows.glslh says what a row of y is.
//
// Defines    GROUP_SIZE, SOURCE
// Dispatch   (rows, 1, 1)

#include "bindings.glslh"
#include "gate.glslh"
#include "halved_rows.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint width; // values in a row, a multiple of 32
	uint x; // offsets in floats
	uint y;
	uint count_at; // word of the state that holds the number of rows
	uint up; // offset in floats
	uint activation;
	uint norm; // float32 weights, offset in words
	float eps;
	uint each; // rows for each that is counted
	uint pad_1;
	uint pad_2;
	uint pad_3;
}
params;

shared vec2 group_found[GROUP_SIZE]; // the largest value, and the sum of squares of x

// Four values, not yet normed.
vec4 values_at(const uint row, const uint quad) {
	const uint at = row * params.width / 4u + quad;
	const vec4 x = work4[params.x / 4u + at];
#if SOURCE == 1
	const vec4 up = work4[params.up / 4u + at];
	vec4 values;
	for (uint j = 0u; j < 4u; j++) {
		values[j] = gated(x[j], up[j], params.activation);
	}
	return values;
#elif SOURCE == 2
	return x * uintBitsToFloat(weights4[params.norm / 4u + quad]);
#else
	return x;
#endif
}

void main() {
	const uint row = gl_WorkGroupID.x;
	if (row >= state[params.count_at] * params.each) {
		return; // the whole group
	}
	const uint thread = gl_LocalInvocationID.x;

	float largest = 0.0;
	float squares = 0.0;
	for (uint quad = thread; quad < params.width / 4u; quad += GROUP_SIZE) {
		const vec4 sizes = abs(values_at(row, quad));
		largest = max(largest, max(max(sizes.x, sizes.y), max(sizes.z, sizes.w)));
#if SOURCE == 2
		const vec4 x = work4[(params.x + row * params.width) / 4u + quad];
		squares += dot(x, x);
#endif
	}
	group_found[thread] = vec2(largest, squares);
	for (uint size = GROUP_SIZE / 2; size > 0u; size >>= 1u) {
		barrier();
		if (thread < size) {
			const vec2 some = group_found[thread];
			const vec2 more = group_found[thread + size];
			group_found[thread] = vec2(max(some.x, more.x), some.y + more.y);
		}
	}
	barrier();
	const vec2 found = group_found[0];
#if SOURCE == 2
	const float factor = 1.0 / sqrt(found.y / float(params.width) + params.eps);
#else
	const float factor = 1.0;
#endif

	// The exponent bits of the largest value; none so small that the inverse would be infinite.
	const uint exponent = max(floatBitsToUint(found.x * factor) >> 23u, 14u);
	const float inverse = uintBitsToFloat((267u - exponent) << 23u);
	const uint y = halved_row(params.y, row, params.width);
	for (uint i = thread; i < params.width / 8u; i += GROUP_SIZE) {
		const vec4 first = values_at(row, 2u * i) * factor * inverse;
		const vec4 second = values_at(row, 2u * i + 1u) * factor * inverse;
		work4[y / 4u + i] = uintBitsToFloat(uvec4(packHalf2x16(first.xy), packHalf2x16(first.zw),
				packHalf2x16(second.xy), packHalf2x16(second.zw)));
	}
	if (thread == 0u) {
		work[halved_scale(params.y, row, params.width)] = uintBitsToFloat((exponent - 13u) << 23u);
	}
}
