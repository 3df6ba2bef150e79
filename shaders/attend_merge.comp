// y[r, h] = sum over the parts s of exp2(greatest[s] - greatest) * sums[s], divided by the same sum
// of total[s]: joins the partials that attend_tile.glslh describes (flash decoding, Dao et al. 2023).
//
// One thread for four dimensions of a query; the loads of PARTS_AT_ONCE parts do not wait for one
// another.
//
// Defines    GROUP_SIZE
// Dispatch   (queries * head_size / 4 / GROUP_SIZE, G, rows * (H / G) / step)

#extension GL_EXT_control_flow_attributes : require

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint partials; // offsets in floats
	uint y;
	uint y_stride; // floats from row to row
	uint heads; // H
	uint kv_heads; // G
	uint head_size; // D
	uint queries; // of a partial
	uint n_parts; // for which there is room
	uint step; // queries from partial to partial, at most `queries`
	uint sinks; // float32 weights, offset in words; or NONE
	uint pad_1;
	uint pad_2;
}
params;

const uint PARTS_AT_ONCE = 4u;
const float LOWEST = -3.0e38;
const float LOG2_E = 1.4426950408889634;

void main() {
	const uint group = params.heads / params.kv_heads;
	const uint size = params.head_size / 4u; // vectors
	const uint vector = gl_GlobalInvocationID.x;
	const uint own = vector / size; // query of this partial
	const uint query = gl_WorkGroupID.z * params.step + own;
	if (own >= params.step || query >= state[STATE_ROWS] * group) {
		return;
	}
	const uint totals = params.queries * params.head_size; // where they start in a partial
	const uint partial = totals + 2u * params.queries + 4u; // floats
	const uint set = gl_WorkGroupID.z * params.kv_heads + gl_WorkGroupID.y;
	const uint first = params.partials + set * params.n_parts * partial;
	const uint n_parts = work_bits[first + totals + 2u * params.queries];
	if (n_parts == 1u) {
		return; // y is written
	}
	vec4 sum = vec4(0.0);
	float greatest = LOWEST;
	float total = 0.0;
	for (uint start = 0u; start < n_parts; start += PARTS_AT_ONCE) {
		vec4 sums[PARTS_AT_ONCE];
		vec2 found[PARTS_AT_ONCE]; // greatest and total
		[[unroll]] for (uint i = 0u; i < PARTS_AT_ONCE; i++) {
			const uint at = first + min(start + i, n_parts - 1u) * partial;
			sums[i] = work4[at / 4u + vector];
			found[i] = vec2(work[at + totals + 2u * own], work[at + totals + 2u * own + 1u]);
		}
		[[unroll]] for (uint i = 0u; i < PARTS_AT_ONCE; i++) {
			const float before = greatest;
			greatest = max(greatest, found[i].x);
			const float shrink = exp2(before - greatest);
			const float share = start + i < n_parts ? exp2(found[i].x - greatest) : 0.0;
			sum = shrink * sum + share * sums[i];
			total = shrink * total + share * found[i].y;
		}
	}
	const uint head = gl_WorkGroupID.y * group + query % group;
	if (params.sinks != NONE) {
		total += exp2(LOG2_E * uintBitsToFloat(weights[params.sinks + head]) - greatest);
	}
	const uint y = params.y + query / group * params.y_stride + head * params.head_size;
	work4[y / 4u + vector % size] = sum / total;
}
