"""Which kernel variant computes an operation, with which parameters and on how many groups.

Offsets are in floats of the work buffer. Counts that are known only at run time stand in the state
buffer; groups are for the most that may come.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from llm.gpu.kernels import (
    KERNELS,
    MATMUL_ROWS_COLUMNS,
    MATMUL_ROWS_ROWS,
    MATMUL_TILE_COLUMNS,
    MATMUL_TILE_ROWS,
    MATVEC_COLUMNS,
    TOP_K_CHUNK,
)
from llm.gpu.state import MAX_PICKS, NONE

Groups = tuple[int, int, int]

PART_WEIGHTS = 32  # weights that are decoded together; every width is a multiple
ENOUGH_TILES = 128  # to keep a large GPU busy
ARGMAX_CHUNK = 4096
SEGMENTS = TOP_K_CHUNK  # parts of a list, by whose maxima it is cut down


@dataclass(frozen=True, slots=True)
class ProductPlan:
    """How a matrix product is launched: `threads_per_row` goes into its parameters."""

    kernel: str
    threads_per_row: int
    groups: Groups


@dataclass(frozen=True, slots=True)
class SearchStage:
    """One dispatch of a search for the largest values; each stage reads what the last one wrote."""

    kernel: str
    params: Mapping[str, int]
    groups: Groups


def thread_groups(kernel: str, threads: int, rows: int = 1) -> Groups:
    """For kernels with one thread for a value, word or part of each row."""
    return (ceil_div(threads, KERNELS[kernel].group_size), rows, 1)


def embed_groups(format_name: str, width: int, rows: int) -> Groups:
    return thread_groups(f"embed_{format_name}", width // PART_WEIGHTS, rows)


def plan_product(
    format_name: str, height: int, width: int, columns: int, *, is_cpu: bool
) -> ProductPlan:
    """For weights (height, width) and at most `columns` columns; `is_cpu`: a software driver."""
    if width % PART_WEIGHTS:
        raise ValueError(f"rows of {width} weights; kernels need a multiple of {PART_WEIGHTS}")
    if is_cpu:
        return _plan_matmul_rows(format_name, height, columns)
    for limit in MATVEC_COLUMNS:
        if columns <= limit:
            kernel = f"matvec_{format_name}_{limit}"
            threads = _threads_per_row(height, width)
            rows_per_group = KERNELS[kernel].group_size // threads
            return ProductPlan(kernel, threads, (ceil_div(height, rows_per_group), 1, 1))
    return _plan_matmul(format_name, height, columns)


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


def _threads_per_row(height: int, width: int) -> int:
    """Few rows: as many threads as have a part each, so that there are groups for every
    multiprocessor. Many rows: few threads, so that none idles at the end of a row."""
    most = 4 if height > 16384 else 32
    threads = 1
    while threads < most and threads * PART_WEIGHTS < width:
        threads *= 2
    return threads


def argmax_scratch(count: int) -> int:
    """Floats of the work buffer that argmax_stages needs."""
    return 2 * ceil_div(count, ARGMAX_CHUNK)


def argmax_stages(values: int, count: int, scratch: int) -> list[SearchStage]:
    """The largest of `count` floats at `values` goes to the state's first pick."""
    groups = ceil_div(count, ARGMAX_CHUNK)
    first = {"values": values, "ids": NONE, "count": count, "chunk": ARGMAX_CHUNK}
    if groups == 1:
        return [_stage("argmax", first, NONE, NONE, 1)]
    last = {"values": scratch, "ids": scratch + groups, "count": groups, "chunk": groups}
    return [
        _stage("argmax", first, scratch, scratch + groups, groups),
        _stage("argmax", last, NONE, NONE, 1),
    ]


def top_k_scratch(count: int, k: int) -> int:
    """Floats of the work buffer that top_k_stages needs."""
    return SEGMENTS + 2 * k + 4 * ceil_div(count, TOP_K_CHUNK) * k


def top_k_stages(values: int, count: int, k: int, scratch: int) -> list[SearchStage]:
    """The k largest of `count` floats at `values` go to the state's picks, best first.

    Where k exceeds `count`, picks with the id NONE follow. A list of more than one chunk is first
    cut down: to what reaches the k-th largest of the maxima of SEGMENTS parts.
    """
    if not 1 <= k <= MAX_PICKS:
        raise ValueError(f"top_k of {k}; kernels pick 1 to {MAX_PICKS}")
    if count <= TOP_K_CHUNK:
        return [_top_k(values, NONE, count, k, NONE, NONE, NONE)]
    maxima, bounds = scratch, scratch + SEGMENTS
    segment = {"values": values, "count": count, "n_segments": SEGMENTS, "maxima": maxima}
    stages = [
        SearchStage("segment_max", segment, thread_groups("segment_max", SEGMENTS)),
        _top_k(maxima, NONE, SEGMENTS, k, NONE, bounds, bounds + k),
    ]
    threshold = bounds + k - 1
    lists = bounds + 2 * k, bounds + 2 * k + 2 * ceil_div(count, TOP_K_CHUNK) * k  # used in turn
    source, ids, n = values, NONE, count
    while n > TOP_K_CHUNK:
        target, kept = lists[len(stages) % 2], ceil_div(n, TOP_K_CHUNK) * k
        stages.append(_top_k(source, ids, n, k, threshold, target, target + kept))
        source, ids, n = target, target + kept, kept
    return [*stages, _top_k(source, ids, n, k, threshold, NONE, NONE)]


def _top_k(
    values: int, ids: int, count: int, k: int, threshold: int, out_values: int, out_ids: int
) -> SearchStage:
    params = {"values": values, "ids": ids, "count": count, "k": k, "threshold": threshold}
    return _stage("top_k", params, out_values, out_ids, ceil_div(count, TOP_K_CHUNK))


def _stage(
    kernel: str, params: dict[str, int], out_values: int, out_ids: int, groups: int
) -> SearchStage:
    return SearchStage(
        kernel, {**params, "out_values": out_values, "out_ids": out_ids}, (groups, 1, 1)
    )


def ceil_div(value: int, divisor: int) -> int:
    return -(-value // divisor)
