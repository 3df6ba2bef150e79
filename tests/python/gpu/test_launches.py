"""Launch plans cover what they should, whatever the sizes."""

from itertools import pairwise

import pytest

from llm.gpu.kernels import FORMAT_IDS, KERNELS, MATMUL_ROWS_ROWS, TOP_K_CHUNK
from llm.gpu.launches import (
    SEGMENTS,
    argmax_scratch,
    argmax_stages,
    plan_product,
    thread_groups,
    top_k_scratch,
    top_k_stages,
)
from llm.gpu.state import NONE

GROUP_LIMIT = 65535  # groups an axis, everywhere


@pytest.mark.parametrize("columns", [1, 2, 8, 9, 16, 17, 256])
@pytest.mark.parametrize(("height", "width"), [(1, 32), (256, 640), (37, 96), (262144, 640)])
@pytest.mark.parametrize("is_cpu", [True, False])
def test_plan_product(height: int, width: int, columns: int, is_cpu: bool) -> None:
    plan = plan_product("q8_0", height, width, columns, is_cpu=is_cpu)
    kernel = KERNELS[plan.kernel]
    if kernel.source == "matmul.comp":
        rows, tile = kernel.defines["TILE_ROWS"], kernel.defines["TILE_COLUMNS"]
    elif kernel.source == "matvec.comp":
        assert plan.threads_per_row in (1, 2, 4, 8, 16, 32)
        rows, tile = kernel.group_size // plan.threads_per_row, kernel.defines["COLUMNS"]
        assert columns <= tile
    else:
        rows, tile = kernel.group_size * MATMUL_ROWS_ROWS, kernel.defines["COLUMNS"]
    across, down, _ = plan.groups
    assert (across - 1) * rows < height <= across * rows
    assert (down - 1) * tile < columns <= down * tile
    assert max(plan.groups) <= GROUP_LIMIT


@pytest.mark.parametrize("name", FORMAT_IDS)
@pytest.mark.parametrize("is_cpu", [True, False])
def test_plan_product_keeps_the_format(name: str, is_cpu: bool) -> None:
    for columns in (1, 8, 256):
        plan = plan_product(name, 64, 256, columns, is_cpu=is_cpu)
        assert KERNELS[plan.kernel].defines["FORMAT"] == FORMAT_IDS[name]


def test_a_narrow_product_still_fills_a_large_gpu() -> None:
    plan = plan_product("q4_k", 640, 1024, 1, is_cpu=False)
    assert plan.groups[0] >= 132


@pytest.mark.parametrize(
    ("height", "columns", "tile"),
    [
        pytest.param(640, 256, 32, id="few tiles"),
        pytest.param(4096, 256, 64, id="many tiles"),
        pytest.param(262144, 32, 32, id="few columns"),
    ],
)
def test_tile_of_a_matrix_product(height: int, columns: int, tile: int) -> None:
    assert plan_product("q4_k", height, 512, columns, is_cpu=False).kernel == f"matmul_q4_k_{tile}"


def test_thread_groups() -> None:
    assert thread_groups("gated_unit", 64, 3) == (1, 3, 1)
    assert thread_groups("gated_unit", 65) == (2, 1, 1)


@pytest.mark.parametrize("count", [1, 4096, 4097, 262144, 1_000_003])
def test_argmax_stages(count: int) -> None:
    stages = argmax_stages(0, count, 2_000_000)
    first, last = stages[0], stages[-1]
    assert first.params["ids"] == NONE
    assert first.groups[0] * first.params["chunk"] >= count
    assert last.groups == (1, 1, 1)
    assert last.params["out_ids"] == NONE
    for before, after in pairwise(stages):
        assert after.params["values"] == before.params["out_values"]
        assert after.params["ids"] == before.params["out_ids"]
        assert after.params["count"] == before.groups[0]
        assert after.params["ids"] + after.params["count"] <= 2_000_000 + argmax_scratch(count)


@pytest.mark.parametrize("k", [1, 64, 256])
@pytest.mark.parametrize("count", [1025, 5000, 262144, 1_000_003])
def test_top_k_stages(count: int, k: int) -> None:
    scratch = 2_000_000
    maxima, bound, *lists = top_k_stages(0, count, k, scratch)
    assert maxima.params["maxima"] == bound.params["values"]
    assert maxima.params["n_segments"] == bound.params["count"] >= k
    assert {stage.params["threshold"] for stage in lists} == {bound.params["out_values"] + k - 1}
    assert lists[-1].params["out_ids"] == NONE
    assert lists[-1].groups == (1, 1, 1)
    for stage in lists:
        assert stage.groups[0] * TOP_K_CHUNK >= stage.params["count"]
    for before, after in pairwise(lists):
        kept = before.groups[0] * k
        source, ids = after.params["values"], after.params["ids"]
        assert (source, ids) == (before.params["out_values"], before.params["out_ids"])
        assert after.params["count"] == kept
        assert scratch + SEGMENTS + 2 * k <= source
        assert source + kept <= ids
        assert ids + kept <= scratch + top_k_scratch(count, k)
    for before, after in pairwise(lists[:-1]):  # a stage must not write what it still reads
        end = after.params["out_ids"] + after.groups[0] * k
        apart = end <= before.params["out_values"]
        assert (
            apart or before.params["out_ids"] + before.groups[0] * k <= after.params["out_values"]
        )


def test_a_short_list_needs_one_stage() -> None:
    (stage,) = top_k_stages(7, 1024, 40, 2_000_000)
    assert stage.params["threshold"] == stage.params["ids"] == stage.params["out_ids"] == NONE
