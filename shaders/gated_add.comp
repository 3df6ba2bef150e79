// y[r, i] = residual[r, i] + x[r, i] / (1 + exp(-gate[r]))
//
// One thread for a value. The residual may be y itself.
//
// Defines    GROUP_SIZE
// Dispatch   (width / GROUP_SIZE, rows, 1)

#include "bindings.glslh"
#include "state.glslh"

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant, std430) uniform Params {
	uint x; // offsets in floats
	uint gate;
	uint y;
	uint residual;
	uint width; // C
	uint pad_1;
	uint pad_2;
	uint pad_3;
}
params;

void main() {
	const uint row = gl_WorkGroupID.y;
	const uint i = gl_GlobalInvocationID.x;
	if (row >= state[STATE_ROWS] || i >= params.width) {
		return;
	}
	const uint at = row * params.width + i;
	const float share = 1.0 / (1.0 + exp(-work[params.gate + row]));
	work[params.y + at] = work[params.residual + at] + share * work[params.x + at];
}
