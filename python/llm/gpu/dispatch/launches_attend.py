"""Which kernel variant attends, on how many groups; offsets are in floats of the work buffer."""

from dataclasses import dataclass

from llm.gpu.dispatch.launches import Groups, ceil_div
from llm.gpu.kernels.attend_tiles import AttendMatrixTile, AttendTile, matrix_tile, plain_tile
from llm.gpu.kernels.variants import KERNELS, add_attend_lanes, add_attend_tile

MULTIPROCESSORS = 132  # of an H200; others run the same plans, if not the best ones
MERGE = 8.0  # microseconds: a dispatch that waits for another, and what it does
TILE_TIME = 7.0  # microseconds of a tile, where every multiprocessor has a group
MATRIX_TILE_TIME = 2.0
LONG = 4096  # cells of a context for which layers without a window are planned
MAX_PARTS = 64
LARGEST_LANES_HEAD = 256  # beyond it the kernel, which has no inner loop, is slow to compile


@dataclass(frozen=True, slots=True)
class AttendDevice:
    """What attention must know of a device."""

    is_cpu: bool  # a software driver
    subgroup_size: int = 0  # of cooperative matrices; 0 where there are none
    shared_memory: int = 0  # bytes
    has_lanes: bool = False  # a software driver that lanes.py finds fit


@dataclass(frozen=True, slots=True)
class AttendPlan:
    """One dispatch; where the cells are cut into several parts, attend_merge must follow."""

    kernel: str
    groups: Groups
    step: int  # queries from group to group, each a head of a row
    tile: AttendTile | None = None  # None on software drivers
    by_lanes: bool = False  # its parameters are ATTEND_LANES

    @property
    def parts(self) -> int:
        return 1 if self.tile is None else self.groups[0]

    @property
    def partial_floats(self) -> int:
        """Of scratch, for the parts."""
        if self.tile is None or self.parts == 1:
            return 0
        x, y, z = self.groups
        return x * y * z * self.tile.partial_floats

    @property
    def merge_groups(self) -> Groups:
        assert self.tile is not None
        threads = self.step * self.tile.head_size // 4
        return (ceil_div(threads, KERNELS["attend_merge"].group_size), *self.groups[1:])


def plan_attend(
    heads: int,
    kv_heads: int,
    head_size: int,
    window: int,
    rows: int,
    device: AttendDevice,
    *,
    are_apart: bool = False,
) -> AttendPlan:
    """For at most `rows` rows of `heads` heads; `window` cells, or 0 for all.

    Rows that `are_apart` may be of several sequences: no group has queries of two of them.
    """
    group = heads // kv_heads
    queries = group if are_apart else rows * group  # that groups share out
    turns = rows if are_apart else 1
    if device.has_lanes and turns == rows and head_size <= LARGEST_LANES_HEAD:
        kernel = add_attend_lanes(head_size)
        return AttendPlan(kernel, (heads, rows, 1), step=1, by_lanes=True)
    if device.is_cpu:
        kernel = "attend_rows_2" if rows == 1 or are_apart else "attend_rows_16"
        step = int(KERNELS[kernel].defines["COLUMNS"])
        step = _divisor(group, step) if are_apart else step
        return AttendPlan(kernel, (kv_heads, turns * ceil_div(queries, step), 1), step)
    tile: AttendTile = matrix_tile(
        head_size,
        queries,
        subgroup_size=device.subgroup_size,
        shared_memory=device.shared_memory,
    ) or plain_tile(head_size, queries)
    step = _divisor(group, tile.queries) if are_apart else tile.queries
    down = turns * ceil_div(queries, step)
    cells = (window or LONG) + (0 if are_apart else tile.queries // group)
    parts = _plan_parts(tile, kv_heads * down, cells)
    return AttendPlan(add_attend_tile(tile), (parts, kv_heads, down), step, tile)


def _divisor(number: int, most: int) -> int:
    """The largest divisor of a number up to `most`."""
    return next(size for size in range(min(number, most), 0, -1) if number % size == 0)


def _plan_parts(tile: AttendTile, groups: int, cells: int) -> int:
    """Into how many parts the cells are cut, so that few groups keep all multiprocessors busy."""
    tiles = ceil_div(cells, tile.keys)
    time = MATRIX_TILE_TIME if isinstance(tile, AttendMatrixTile) else TILE_TIME

    def estimate(parts: int) -> float:
        turns = ceil_div(groups * parts, MULTIPROCESSORS)
        return turns * ceil_div(tiles, parts) * time + (MERGE if parts > 1 else 0.0)

    powers = [1 << power for power in range(MAX_PARTS.bit_length())]
    return min((parts for parts in powers if parts <= tiles), key=estimate)
