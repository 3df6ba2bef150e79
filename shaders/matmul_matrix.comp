// y[c, m] = residual[c, m] + sum over k of weight[m, k] * x[c, k], by cooperative matrices
//
// One group for a tile of TILE_ROWS rows m and TILE_COLUMNS columns c; a subgroup sums up SUB_ROWS by
// SUB_COLUMNS of it. For each 64 of k, threads bring weights and x to shared memory as float16; they
// load the next 64 while all multiply these. Sums in float32. x is what halve_rows.comp wrote.
//
// Where a dispatch has few tiles, its third dimension cuts k into as many parts; each writes its sums
// one behind the other from y on, and sum_parts.comp adds them up.
//
// Defines    GROUP_SIZE   a subgroup for each SUB_ROWS by SUB_COLUMNS
//            FORMAT, TILE_ROWS, TILE_COLUMNS
//            SUB_ROWS, SUB_COLUMNS: 16 or 32
//            EXPERTS  see product_columns.glslh; without it, all columns have the same weights
// Dispatch   (tiles of columns, M / TILE_ROWS, parts of k)

#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require

#include "bindings.glslh"
#include "halved_rows.glslh"
#include "product_params.glslh"

#include "dequant.glslh"
#include "weight_halves.glslh"

layout(local_size_x = GROUP_SIZE) in;

// Shared memory holds rows of eight float16 (a quad) after another; an odd number of quads a row keeps
// threads that read one column of quads in different banks.
const uint TILE_PARTS = 2u;
const uint TILE_QUADS = TILE_PARTS * PART_WEIGHTS / 8u;
const uint STRIDE = TILE_QUADS + 1u;
const uint X_START = TILE_ROWS * STRIDE; // after the weights
const uint WEIGHT_UNITS = TILE_ROWS * TILE_PARTS; // what a thread brings at once: a part of a row,
const uint X_UNITS = TILE_COLUMNS * TILE_QUADS; // a quad of a column
const uint SUBGROUPS = (TILE_ROWS / SUB_ROWS) * (TILE_COLUMNS / SUB_COLUMNS);
const uint LANES = GROUP_SIZE / SUBGROUPS;
const uint SUM_STRIDE = 5u; // quads of a column of 16 float32 sums, on their way out
const uint SUM_QUADS = 16u * SUM_STRIDE;

shared uvec4 tile[(TILE_ROWS + TILE_COLUMNS) * STRIDE];

PartWords staged_weights[(WEIGHT_UNITS + GROUP_SIZE - 1u) / GROUP_SIZE];
uvec4 staged_x[(X_UNITS + GROUP_SIZE - 1u) / GROUP_SIZE];

uint x_quads[staged_x.length()]; // where the rows start of which a thread brings quads

// Columns past the last one are the last one again.
void find_x(const ColumnTile columns) {
	[[unroll]] for (uint u = 0u; u < staged_x.length(); u++) {
		const uint column = columns.first + (u * GROUP_SIZE + gl_LocalInvocationID.x) / TILE_QUADS;
		x_quads[u] = halved_row(params.x, row_of_x(min(column, columns.end - 1u)), params.width) / 4u;
	}
}

// Rows and parts past the last one load the last one again.
void load_tile(const uint first_row, const ColumnTile columns, const uint first_part) {
	const uint last_part = params.width / PART_WEIGHTS - 1u;
	[[unroll]] for (uint u = 0u; u < staged_weights.length(); u++) {
		const uint unit = u * GROUP_SIZE + gl_LocalInvocationID.x;
		if (unit < WEIGHT_UNITS) {
			const uint row = columns.weight_row + min(first_row + unit / TILE_PARTS, params.height - 1u);
			const uint p = min(first_part + unit % TILE_PARTS, last_part);
			staged_weights[u] = load_part(params.planes, row * (params.width / BLOCK_WEIGHTS), p);
		}
	}
	[[unroll]] for (uint u = 0u; u < staged_x.length(); u++) {
		const uint unit = u * GROUP_SIZE + gl_LocalInvocationID.x;
		if (unit < X_UNITS) {
			const uint quad = unit % TILE_QUADS; // of a part: two of each run
			const uint p = min(first_part + quad / 4u, last_part);
			const uint part = p % BLOCK_PARTS;
			const uint k = (p - part) * PART_WEIGHTS + part_column(part) + (quad & 2u) / 2u * RUN_STEP + (quad & 1u) * 8u;
			staged_x[u] = floatBitsToUint(work4[x_quads[u] + k / 8u]);
		}
	}
}

void store_tile(const uint first_part) {
	[[unroll]] for (uint u = 0u; u < staged_weights.length(); u++) {
		const uint unit = u * GROUP_SIZE + gl_LocalInvocationID.x;
		if (unit < WEIGHT_UNITS) {
			const uint p = first_part + unit % TILE_PARTS;
			uvec4 halves[4] = uvec4[4](uvec4(0u), uvec4(0u), uvec4(0u), uvec4(0u));
			if (p < params.width / PART_WEIGHTS) {
				decode_part(staged_weights[u], p, halves);
			}
			const uint at = unit / TILE_PARTS * STRIDE + unit % TILE_PARTS * 4u;
			[[unroll]] for (uint j = 0u; j < 4u; j++) {
				tile[at + j] = halves[j];
			}
		}
	}
	[[unroll]] for (uint u = 0u; u < staged_x.length(); u++) {
		const uint unit = u * GROUP_SIZE + gl_LocalInvocationID.x;
		if (unit < X_UNITS) {
			tile[X_START + unit / TILE_QUADS * STRIDE + unit % TILE_QUADS] = staged_x[u];
		}
	}
}

// Arrays of cooperative matrices would lie in local memory, five times slower; hence macros.

#define Sum coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>
#define WeightPiece coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>
#define XPiece coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>

#if SUB_ROWS == 16
#define EACH_ROW(f, c) f(0u, c)
#else
#define EACH_ROW(f, c) f(0u, c) f(1u, c)
#endif
#if SUB_COLUMNS == 16
#define EACH_COLUMN(f) f(0u)
#else
#define EACH_COLUMN(f) f(0u) f(1u)
#endif

#define DECLARE_SUM(r, c) Sum sum_##r##_##c = Sum(0.0);
#define DECLARE_SUMS(c) EACH_ROW(DECLARE_SUM, c)

#define LOAD_WEIGHTS(r, c) \
	WeightPiece weights_##r; \
	coopMatLoad(weights_##r, tile, (sub_row + r * 16u) * STRIDE + quad, STRIDE, gl_CooperativeMatrixLayoutRowMajor);

#define MULTIPLY(r, c) sum_##r##_##c = coopMatMulAdd(weights_##r, x, sum_##r##_##c);

#define MULTIPLY_COLUMN(c) \
	{ \
		XPiece x; \
		const uint at = X_START + (sub_column + c * 16u) * STRIDE + quad; \
		coopMatLoad(x, tile, at, STRIDE, gl_CooperativeMatrixLayoutColumnMajor); \
		EACH_ROW(MULTIPLY, c) \
	}

#define STORE_SUM(r, c) \
	coopMatStore(sum_##r##_##c, tile, sums_at, SUM_STRIDE, gl_CooperativeMatrixLayoutColumnMajor); \
	subgroupMemoryBarrierShared(); \
	subgroupBarrier(); \
	write_sums(sums_at, first_row + sub_row + r * 16u, columns.first + sub_column + c * 16u, columns.end); \
	subgroupBarrier();
#define STORE_SUMS(c) EACH_ROW(STORE_SUM, c)

// The subgroup's 16 by 16 sums go from shared memory to y.
void write_sums(const uint sums_at, const uint first_row, const uint first_column, const uint end_column) {
	const uint y = params.y + gl_WorkGroupID.z * end_column * params.height;
	[[unroll]] for (uint i = 0u; i < 256u / LANES; i++) {
		const uint entry = i * LANES + gl_SubgroupInvocationID;
		const uint row = first_row + entry % 16u;
		const uint column = first_column + entry / 16u;
		if (row < params.height && column < end_column) {
			const uint quad = sums_at + entry / 16u * SUM_STRIDE + entry % 16u / 4u;
			const float sum = uintBitsToFloat(tile[quad][entry & 3u]);
			const uint at = row_of_y(column) * params.height + row;
			const float scale = work[halved_scale(params.x, row_of_x(column), params.width)];
			work[y + at] = with_residual(at, sum * scale);
		}
	}
}

void main() {
	const ColumnTile columns = columns_of(gl_WorkGroupID.x, TILE_COLUMNS);
	const uint first_row = gl_WorkGroupID.y * TILE_ROWS;
	if (columns.first >= columns.end) {
		return; // the whole group
	}
	const uint sub_row = gl_SubgroupID % (TILE_ROWS / SUB_ROWS) * SUB_ROWS;
	const uint sub_column = gl_SubgroupID / (TILE_ROWS / SUB_ROWS) * SUB_COLUMNS;
	const uint sums_at = gl_SubgroupID * SUM_QUADS;
	const uint n_steps = (params.width / PART_WEIGHTS + TILE_PARTS - 1u) / TILE_PARTS;
	const uint begin = gl_WorkGroupID.z * n_steps / gl_NumWorkGroups.z;
	const uint end = (gl_WorkGroupID.z + 1u) * n_steps / gl_NumWorkGroups.z;

	find_x(columns);
	EACH_COLUMN(DECLARE_SUMS)
	load_tile(first_row, columns, begin * TILE_PARTS);
	for (uint s = begin; s < end; s++) {
		store_tile(s * TILE_PARTS);
		barrier();
		if (s + 1u < end) {
			load_tile(first_row, columns, (s + 1u) * TILE_PARTS);
		}
		[[unroll]] for (uint quad = 0u; quad < TILE_QUADS; quad += 2u) {
			EACH_ROW(LOAD_WEIGHTS, 0u)
			EACH_COLUMN(MULTIPLY_COLUMN)
		}
		barrier();
	}
	EACH_COLUMN(STORE_SUMS)
}
