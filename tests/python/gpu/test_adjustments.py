"""Adjustments follow llama.cpp's formula, token by token."""

import numpy as np
import pytest

from llm.gpu.adjustments import MASKED, Adjustments

LOGITS = np.array([2.0, -2.0, 0.0, 5.0], np.float32)


@pytest.mark.parametrize(
    ("adjustments", "expected"),
    [
        pytest.param(Adjustments({}, repeat=2.0), [2, -2, 0, 5], id="nothing seen"),
        pytest.param(Adjustments({0: 3, 1: 1}, repeat=2.0), [1, -4, 0, 5], id="repeat divides"),
        pytest.param(Adjustments({0: 3}, frequency=0.5), [0.5, -2, 0, 5], id="frequency counts"),
        pytest.param(Adjustments({3: 9}, presence=1.5), [2, -2, 0, 3.5], id="presence once"),
        pytest.param(Adjustments({2: 1}, repeat=2.0, presence=1.0), [2, -2, -1, 5], id="zero"),
        pytest.param(Adjustments(biases={1: 3.0, 3: -1.0}), [2, 1, 0, 4], id="biases"),
        pytest.param(Adjustments({0: 1}, 2.0, biases={0: 0.5}), [1.5, -2, 0, 5], id="both"),
    ],
)
def test_apply(adjustments: Adjustments, expected: list[float]) -> None:
    before = LOGITS.copy()
    assert adjustments.apply(LOGITS).tolist() == expected
    assert LOGITS.tolist() == before.tolist()


def test_a_mask_hides_all_others() -> None:
    logits = np.arange(70, dtype=np.float32)
    mask = np.array([1 << 31, 0, 1 << 5], np.uint32)
    found = Adjustments({31: 1}, repeat=2.0, mask=mask).apply(logits)
    assert np.flatnonzero(found > MASKED).tolist() == [31, 69]
    assert found[[31, 69]].tolist() == [15.5, 69.0]


@pytest.mark.parametrize(
    ("adjustments", "expected"),
    [
        (Adjustments(), True),
        (Adjustments({1: 1}), True),
        (Adjustments({}, repeat=2.0), True),
        (Adjustments({1: 1}, presence=0.1), False),
        (Adjustments(biases={1: 0.1}), False),
        (Adjustments(mask=np.zeros(1, np.uint32)), False),
    ],
)
def test_whether_anything_changes(adjustments: Adjustments, expected: bool) -> None:
    assert adjustments.changes_nothing == expected
