"""The largest logits come in order, ties by id, and numbers that are not finite are an error."""

import numpy as np
import pytest

from llm.errors import NumericError
from llm.gpu.penalties import Penalties
from llm.gpu.program import bucket, largest

LOGITS = np.array([1.0, 3.0, 3.0, -5.0, 2.0], np.float32)


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        pytest.param(1, [1], id="argmax takes the lower id of a tie"),
        pytest.param(2, [1, 2], id="a tie stands in the order of ids"),
        pytest.param(4, [1, 2, 4, 0], id="best first"),
        pytest.param(0, [1, 2, 4, 0, 3], id="zero gives all"),
        pytest.param(99, [1, 2, 4, 0, 3], id="more than there are"),
    ],
)
def test_largest(k: int, expected: list[int]) -> None:
    found = largest(LOGITS, k, None)
    assert found.ids.tolist() == expected
    assert found.logits.tolist() == LOGITS[expected].tolist()


def test_a_tie_at_the_edge_keeps_the_lower_id() -> None:
    assert largest(np.array([0, 7, 7, 7], np.float32), 2, None).ids.tolist() == [1, 2]


def test_penalties_come_first() -> None:
    found = largest(LOGITS, 1, Penalties({1: 1, 2: 1}, repeat=10.0))
    assert found.ids.tolist() == [4]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite(bad: float) -> None:
    logits = LOGITS.copy()
    logits[3] = bad
    with pytest.raises(NumericError, match="1 of 5 logits"):
        largest(logits, 1, None)


@pytest.mark.parametrize(
    ("rows", "limit", "expected"),
    [(1, 128, 1), (2, 128, 8), (9, 128, 32), (33, 128, 128), (129, 200, 200), (7, 5, 5), (3, 5, 5)],
)
def test_bucket(rows: int, limit: int, expected: int) -> None:
    assert bucket(rows, limit) == expected
