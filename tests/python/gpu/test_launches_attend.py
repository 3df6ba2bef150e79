"""Attention launches cover what they should, whatever the sizes."""

import pytest

from llm.gpu.kernels import KERNELS
from llm.gpu.launches_attend import plan_attend


@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 1), (8, 8), (32, 8), (6, 2)])
@pytest.mark.parametrize("rows", [1, 8, 33, 256])
@pytest.mark.parametrize("is_cpu", [True, False])
def test_plan_attend(heads: int, kv_heads: int, rows: int, is_cpu: bool) -> None:
    plan = plan_attend(heads, kv_heads, rows, is_cpu=is_cpu)
    columns = KERNELS[plan.kernel].defines["COLUMNS"]
    across, down, _ = plan.groups
    assert across == kv_heads
    assert (down - 1) * columns < rows * heads // kv_heads <= down * columns
