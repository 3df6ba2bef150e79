"""Whether several sequences run together or take turns."""

import pytest

from llm.generate.pace import TRIES, Pace


def test_what_is_not_known_is_tried() -> None:
    pace = Pace()
    assert pace.prefers_turns(4)
    pace.note_token(1.0)
    assert not pace.prefers_turns(4)


@pytest.mark.parametrize(("count", "run", "expected"), [(2, 2.5, True), (3, 2.5, False)])
def test_the_quicker_is_preferred(count: int, run: float, expected: bool) -> None:
    pace = Pace()
    pace.note_token(1.0)
    pace.note_run(count, run)
    assert pace.prefers_turns(count) == expected


def test_a_first_run_that_was_slow_is_tried_again() -> None:
    pace = Pace()
    pace.note_token(1.0)
    pace.note_run(2, 100.0)  # kernels were compiled
    answers = [pace.prefers_turns(2) for _ in range(TRIES)]
    assert answers == [*[True] * (TRIES - 1), False]
    pace.note_run(2, 1.5)
    assert not pace.prefers_turns(2)


def test_one_slow_run_changes_little() -> None:
    pace = Pace()
    pace.note_token(1.0)
    pace.note_run(2, 1.0)
    pace.note_run(2, 4.0)
    assert not pace.prefers_turns(2)
    pace.note_run(2, 4.0)
    pace.note_run(2, 4.0)
    assert pace.prefers_turns(2)
