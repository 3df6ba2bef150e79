"""Barriers stand exactly where two operations touch the same bytes and one of them writes."""

import pytest

from llm.gpu.dispatch.hazards import HazardTracker
from llm.gpu.operations import Region


def work(start: int, end: int) -> Region:
    return Region("work", start, end)


A, B = work(0, 16), work(16, 32)
ACROSS = work(12, 20)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(([], [A]), ([A], [B]), True, id="read after write"),
        pytest.param(([A], [B]), ([], [A]), True, id="write after read"),
        pytest.param(([], [A]), ([], [A]), True, id="write after write"),
        pytest.param(([A], []), ([A], []), False, id="two reads"),
        pytest.param(([], [A]), ([B], []), False, id="neighbours do not touch"),
        pytest.param(([], [A]), ([ACROSS], []), True, id="a shared part is enough"),
        pytest.param(([], [A]), ([Region("cache", 0, 16)], []), False, id="another buffer"),
    ],
)
def test_conflicts(first, second, expected) -> None:
    tracker = HazardTracker()
    assert tracker.add(*first) is False
    assert tracker.add(*second) is expected


def test_a_barrier_covers_all_that_came_before() -> None:
    tracker = HazardTracker()
    tracker.add([], [A])
    tracker.add([], [B])
    assert tracker.add([A], []) is True
    assert tracker.add([B], []) is False


def test_what_came_after_the_barrier_still_counts() -> None:
    tracker = HazardTracker()
    tracker.add([], [A])
    tracker.add([A], [B])
    assert tracker.add([B], []) is True
