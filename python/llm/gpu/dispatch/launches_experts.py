"""Which kernel variant computes a product of experts, and on how many groups."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm.gpu.dispatch.launches import PART_WEIGHTS, Groups, ceil_div
from llm.gpu.dispatch.launches_products import plan_product
from llm.gpu.kernels.experts import of_experts
from llm.gpu.kernels.matrix_tiles import MatrixTile, Tile
from llm.gpu.kernels.variants import KERNELS, MATMUL_ROWS_ROWS, MATMUL_TILE_ROWS
from llm.gpu.operations import most_tiles

ROOM = 1.25  # of a tile, over the mean number of rows that use an expert
PLAIN_COLUMNS = 32  # of the tile of matmul.comp
ROWS_COLUMNS = 8  # of that of matmul_rows.comp


@dataclass(frozen=True, slots=True)
class ExpertPlan:
    """How a product of experts is launched: `threads_per_row` goes into its parameters."""

    kernel: str
    groups: Groups
    size: int  # pairs of a tile; 1: a group for each pair, without lists
    threads_per_row: int = 1
    tile: MatrixTile | None = None  # of matrices: it reads rows that halve_rows wrote
    by_lanes: bool = False


def plan_experts(
    format_name: str,
    height: int,
    width: int,
    pairs: int,
    experts: int,
    *,
    is_cpu: bool,
    has_lanes: bool = False,
    tiles: Sequence[Tile] = (),
) -> ExpertPlan:
    """For weights (height, width) of each of `experts`, and at most `pairs` of a row and an expert.

    While most experts have one pair at most, each is multiplied by itself: nothing would be read
    less often otherwise. The rest as of plan_product.
    """
    if width % PART_WEIGHTS:
        raise ValueError(f"rows of {width} weights; kernels need a multiple of {PART_WEIGHTS}")
    if pairs <= experts:
        plan = plan_product(format_name, height, width, 1, is_cpu=is_cpu, has_lanes=has_lanes)
        groups = _with_pairs(plan.groups, pairs, by_lanes=plan.by_lanes)
        kernel = of_experts(plan.kernel)
        return ExpertPlan(kernel, groups, 1, plan.threads_per_row, by_lanes=plan.by_lanes)
    tile = _matrix_tile(tiles, pairs / experts)
    if tile is not None:
        across = most_tiles(pairs, experts, tile.columns)
        groups = (across, ceil_div(height, tile.rows), 1)
        return ExpertPlan(of_experts(tile.kernel(format_name)), groups, tile.columns, tile=tile)
    size = ROWS_COLUMNS if is_cpu else PLAIN_COLUMNS
    kernel = f"matmul_rows_{format_name}_{size}" if is_cpu else f"matmul_{format_name}_{size}"
    rows = KERNELS[kernel].group_size * MATMUL_ROWS_ROWS if is_cpu else MATMUL_TILE_ROWS
    groups = (ceil_div(height, rows), most_tiles(pairs, experts, size), 1)
    return ExpertPlan(of_experts(kernel), groups, size)


def _with_pairs(groups: Groups, pairs: int, *, by_lanes: bool) -> Groups:
    return (*groups[:2], pairs) if by_lanes else (groups[0], pairs, 1)


def _matrix_tile(tiles: Sequence[Tile], mean: float) -> MatrixTile | None:
    """The narrowest that most experts need but once."""
    known = [tile for tile in tiles if isinstance(tile, MatrixTile) and tile.columns <= 64]
    known.sort(key=lambda tile: tile.columns)
    return next(
        (tile for tile in known if tile.columns >= ROOM * mean), known[-1] if known else None
    )
