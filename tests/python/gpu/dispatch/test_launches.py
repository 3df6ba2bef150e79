"""Launch plans cover what they should, whatever the sizes."""

from itertools import pairwise

import pytest

from llm.gpu.dispatch.launches import (
    SEGMENTS,
    argmax_scratch,
    argmax_stages,
    thread_groups,
    top_k_scratch,
    top_k_stages,
)
from llm.gpu.kernels.variants import TOP_K_CHUNK
from llm.gpu.state import NONE


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
