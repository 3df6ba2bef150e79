"""Whether several sequences run together or take turns."""

import pytest

from llm.generate.pace import ENOUGH, RECENT, TRIES, Pace


def a_pace(run: float, count: int = 2) -> Pace:
    """A token of one takes a second."""
    pace = Pace()
    pace.note_token(1.0)
    for _ in range(RECENT):
        pace.note_run(count, run)
    return pace


def test_what_is_not_known_is_tried() -> None:
    pace = Pace()
    assert pace.prefers_turns(4)
    pace.note_token(1.0)
    for _ in range(ENOUGH):
        assert not pace.prefers_turns(4)
        pace.note_run(4, 100.0)
    assert pace.prefers_turns(4)
    assert not pace.prefers_turns(5)


@pytest.mark.parametrize(("count", "expected"), [(2, True), (3, False)])
def test_the_quicker_is_preferred(count: int, expected: bool) -> None:
    assert a_pace(2.5, count).prefers_turns(count) == expected


def test_a_few_slow_ones_change_nothing() -> None:
    """As the first, for which kernels are compiled, or one for which the cache has grown."""
    pace = a_pace(1.5)
    for _ in range(2):
        pace.note_run(2, 80.0)
        pace.note_token(0.1)
    pace.note_token(1.0)
    pace.note_token(1.0)
    assert not pace.prefers_turns(2)


def test_turns_are_given_up_where_runs_have_become_quicker() -> None:
    pace = a_pace(2.5)
    runs = 0
    for _ in range(10 * TRIES):
        if not pace.prefers_turns(2):
            runs += 1
            pace.note_run(2, 1.5)
    assert runs > 7 * TRIES - 10
