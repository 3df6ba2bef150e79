"""The largest logits in order, decoding in runs of one token, and what is no number is an error."""

import numpy as np
import pytest

from llm.errors import NumericError
from llm.gpu.adjustments import Adjustments
from llm.gpu.program import Batch, Candidates, bucket, decode_by_runs, largest, until_stop
from llm.gpu.sampler import GREEDY, Sampler

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
    found = largest(LOGITS, k)
    assert found.ids.tolist() == expected
    assert found.logits.tolist() == LOGITS[expected].tolist()


def test_a_tie_at_the_edge_keeps_the_lower_id() -> None:
    assert largest(np.array([0, 7, 7, 7], np.float32), 2).ids.tolist() == [1, 2]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite(bad: float) -> None:
    logits = LOGITS.copy()
    logits[3] = bad
    with pytest.raises(NumericError, match="1 of 5 logits"):
        largest(logits, 1)


class Counting:
    """Stands in for an executor: the likeliest token after `n` is `n` + 1, `n` + 2 comes close."""

    def __init__(self) -> None:
        self.runs: list[Batch] = []

    def run(self, batch: Batch) -> None:
        self.runs.append(batch)

    def candidates(self, output: int, k: int, adjustments: Adjustments | None) -> Candidates:
        assert (output, adjustments) == (0, None)
        last = self.runs[-1].tokens[0]
        ids, logits = np.array([last + 1, last + 2]), np.array([0.5, 0.0], np.float32)
        return Candidates(ids[:k], logits[:k])


@pytest.mark.parametrize(
    ("stops", "expected"),
    [((), [8, 9, 10, 11]), ({10}, [8, 9, 10]), ({8, 9}, [8]), ({11}, [8, 9, 10, 11])],
)
def test_decode_by_runs(stops: set[int], expected: list[int]) -> None:
    executor = Counting()
    assert decode_by_runs(executor, 7, 20, 4, GREEDY, stops, 3) == expected
    inputs = [7, *expected[:-1]]
    places = range(20, 20 + len(expected))
    assert executor.runs == [
        Batch([token], [place], [0], [3]) for token, place in zip(inputs, places, strict=True)
    ]


def test_draws_do_not_depend_on_where_runs_are_cut() -> None:
    sampler = Sampler(1.0, 2, seed=4)
    whole = decode_by_runs(Counting(), 7, 20, 30, sampler, (), 0)
    steps = np.diff([7, *whole])
    assert set(steps.tolist()) == {1, 2}
    first = decode_by_runs(Counting(), 7, 20, 11, sampler, (), 0)
    rest = decode_by_runs(Counting(), first[-1], 31, 19, sampler, (), 0)
    assert first + rest == whole


@pytest.mark.parametrize(
    ("stops", "expected"), [((), [4, 5, 4]), ({4}, [4]), ({5}, [4, 5]), ({6}, [4, 5, 4])]
)
def test_until_stop(stops: set[int], expected: list[int]) -> None:
    assert until_stop([4, 5, 4], stops) == expected
    assert until_stop([], stops) == []


@pytest.mark.parametrize(
    ("rows", "limit", "expected"),
    [
        (1, 128, 1),
        (2, 128, 8),
        (9, 128, 16),
        (17, 128, 32),
        (33, 128, 128),
        (129, 200, 200),
        (129, 512, 256),
        (257, 512, 512),
        (7, 5, 5),
        (3, 5, 5),
    ],
)
def test_bucket(rows: int, limit: int, expected: int) -> None:
    assert bucket(rows, limit) == expected
