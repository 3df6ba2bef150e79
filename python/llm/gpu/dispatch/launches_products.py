"""Which kernel variant computes a matrix product, and on how many groups."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from llm.files.formats import FORMATS_BY_NAME
from llm.gpu.dispatch.launches import PART_WEIGHTS, Groups, ceil_div
from llm.gpu.kernels.matrix_tiles import Tile
from llm.gpu.kernels.variants import (
    KERNELS,
    LANES_PARTS,
    LANES_ROWS,
    MATMUL_ROWS_COLUMNS,
    MATMUL_ROWS_ROWS,
    MATMUL_TILE_COLUMNS,
    MATMUL_TILE_ROWS,
    MATVEC_COLUMNS,
)

ENOUGH_TILES = 128  # to keep a large GPU busy
MULTIPROCESSORS = 132  # of an H200; others run the same plans, if not the best ones
STEP = 64  # of k, between two barriers of a group
LEAST_STEPS = 4  # of a part, where k is cut
GROUP_LIMIT = 65535  # groups an axis, everywhere
LAUNCH = 6.0  # microseconds of a dispatch that waits for another
SUM_UP = 7.0  # microseconds to add up parts
LEAST_COLUMNS = 2  # that are multiplied by matrices, where a device has them


@dataclass(frozen=True, slots=True)
class ProductPlan:
    """How a matrix product is launched: `threads_per_row` goes into its parameters.

    One by matrices reads rows that halve_rows wrote; where k is cut into several parts, the sums of
    each stand behind one another and sum_parts must follow.
    """

    kernel: str
    threads_per_row: int
    groups: Groups
    tile: Tile | None = None  # of matrices
    by_lanes: bool = False  # its parameters are PRODUCT_BY_LANES

    @property
    def parts(self) -> int:
        return self.groups[2]


def plan_product(
    format_name: str,
    height: int,
    width: int,
    columns: int,
    *,
    is_cpu: bool,
    has_lanes: bool = False,
    tiles: Sequence[Tile] = (),
) -> ProductPlan:
    """For weights (height, width) and at most `columns` columns.

    `is_cpu`: a software driver; `has_lanes`: one that lanes.py finds fit; `tiles`: those of
    cooperative matrices that the device takes.
    """
    if width % PART_WEIGHTS:
        raise ValueError(f"rows of {width} weights; kernels need a multiple of {PART_WEIGHTS}")
    if tiles and columns >= LEAST_COLUMNS:
        return _plan_matrices(format_name, height, width, columns, tiles)
    if has_lanes and columns <= max(LANES_ROWS):
        return _plan_lanes(format_name, height, width, columns)
    if is_cpu:
        return _plan_matmul_rows(format_name, height, columns)
    for limit in MATVEC_COLUMNS:
        if columns <= limit:
            kernel = f"matvec_{format_name}_{limit}"
            threads = _threads_per_row(height, width)
            rows_per_group = KERNELS[kernel].group_size // threads
            return ProductPlan(kernel, threads, (ceil_div(height, rows_per_group), 1, 1))
    return _plan_matmul(format_name, height, columns)


def halves_floats(width: int, rows: int) -> int:
    """Floats of what halve_rows writes."""
    return rows * (width // 2 + 4)


def parts_floats(height: int, columns: int, parts: int) -> int:
    """Floats of the sums of `parts` parts of k."""
    return parts * height * columns if parts > 1 else 0


def most_parts_floats(tiles: Iterable[Tile]) -> int:
    """No product needs more of parts_floats: only what leaves multiprocessors idle is cut."""
    sizes = [tile.resident * tile.rows * tile.columns for tile in tiles if tile.takes_parts]
    return MULTIPROCESSORS * max(sizes, default=0)


def _plan_matrices(
    format_name: str, height: int, width: int, columns: int, tiles: Sequence[Tile]
) -> ProductPlan:
    """The tile, and the parts of k, that should take least time; all steps of a group take turns,
    and groups beyond those that run together come after them."""
    plans = []
    steps = ceil_div(width, STEP)
    for tile in tiles:
        if columns > tile.columns and not tile.takes_parts:
            continue
        across, down = ceil_div(columns, tile.columns), ceil_div(height, tile.rows)
        together = MULTIPROCESSORS * tile.resident
        most = max(1, min(together // (across * down), steps // LEAST_STEPS))
        for parts in sorted({1, most if tile.takes_parts else 1}):
            turns = ceil_div(across * down * parts, together) * ceil_div(steps, parts)
            time = LAUNCH + turns * tile.microseconds + (SUM_UP if parts > 1 else 0.0)
            plan = ProductPlan(tile.kernel(format_name), 1, (across, down, parts), tile)
            plans.append((time, plan))
    return min(plans, key=lambda entry: entry[0])[1]


def _plan_matmul(format_name: str, height: int, columns: int) -> ProductPlan:
    """The large tile reads less; the small one is for products that would leave much of a large
    GPU idle."""
    small, large = MATMUL_TILE_COLUMNS
    rows = ceil_div(height, MATMUL_TILE_ROWS)
    is_large = columns > small and rows * ceil_div(columns, large) >= ENOUGH_TILES
    tile = large if is_large else small
    return ProductPlan(f"matmul_{format_name}_{tile}", 1, (rows, ceil_div(columns, tile), 1))


def _plan_matmul_rows(format_name: str, height: int, columns: int) -> ProductPlan:
    limit = next(
        (limit for limit in MATMUL_ROWS_COLUMNS if columns <= limit), MATMUL_ROWS_COLUMNS[-1]
    )
    kernel = f"matmul_rows_{format_name}_{limit}"
    rows_per_group = KERNELS[kernel].group_size * MATMUL_ROWS_ROWS
    groups = (ceil_div(height, rows_per_group), ceil_div(columns, limit), 1)
    return ProductPlan(kernel, 1, groups)


def _plan_lanes(format_name: str, height: int, width: int, columns: int) -> ProductPlan:
    whole = max(FORMATS_BY_NAME[format_name].values // PART_WEIGHTS, 1)  # parts of a block
    unit = width // PART_WEIGHTS if whole == 1 else whole
    parts = next(parts for parts in reversed(LANES_PARTS) if unit % parts == 0)
    most = next(most for most in LANES_ROWS if columns <= most)
    kernel = f"matvec_lanes_{format_name}_{parts}_{most}"
    groups = ceil_div(height, LANES_ROWS[most])
    down = ceil_div(groups, GROUP_LIMIT)
    return ProductPlan(kernel, 1, (ceil_div(groups, down), down, 1), by_lanes=True)


def _threads_per_row(height: int, width: int) -> int:
    """Few rows: as many threads as have a part each, so that there are groups for every
    multiprocessor. Many rows: few threads, so that none idles at the end of a row."""
    most = 4 if height > 16384 else 32
    threads = 1
    while threads < most and threads * PART_WEIGHTS < width:
        threads *= 2
    return threads
