"""Which kernel variant attends, on how many groups; offsets are in floats of the work buffer."""

from dataclasses import dataclass

from llm.gpu.kernels import KERNELS
from llm.gpu.launches import Groups, ceil_div

SPLIT_ROWS = 8  # most rows whose attention is cut along the cells
SPLIT_GROUPS = 256  # groups that a split aims at: two for a multiprocessor of a large GPU
MAX_PARTS = 32


@dataclass(frozen=True, slots=True)
class AttendPlan:
    kernel: str
    groups: Groups


def plan_attend(heads: int, kv_heads: int, rows: int, *, is_cpu: bool) -> AttendPlan:
    """For one row, few heads share a group, so that there is a group for every processor."""
    kernel = "attend_4"
    if is_cpu:
        kernel = "attend_rows_2" if rows == 1 else "attend_rows_16"
    columns = rows * (heads // kv_heads)
    return AttendPlan(kernel, (kv_heads, ceil_div(columns, KERNELS[kernel].defines["COLUMNS"]), 1))


def attend_parts(heads: int, rows: int, *, is_cpu: bool) -> int:
    """Into how many parts the cells of a row are cut; 1: attend.comp does without."""
    if is_cpu or rows > SPLIT_ROWS:
        return 1
    return max(1, min(MAX_PARTS, SPLIT_GROUPS // (heads * rows)))


def attend_scratch(heads: int, head_size: int, rows: int, parts: int) -> int:
    """Floats of the work buffer that the partial sums of a split need."""
    return rows * heads * parts * (head_size + 4)
