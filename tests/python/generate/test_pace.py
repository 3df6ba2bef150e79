"""Whether several sequences run together or take turns."""

import pytest

from llm.generate.pace import ENOUGH, LEAST_OF, RECENT, TRIES, Pace


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


def test_without_a_limit_steps_are_as_long_as_may_be() -> None:
    pace = Pace()
    pace.note_token(1.0)
    pace.note_chunk(8, 100.0)
    assert pace.tokens(64) == 64
    assert pace.rows(256) == 256


@pytest.mark.parametrize(("limit", "expected"), [(0.5, 1), (2.0, 2), (7.9, 7), (1000.0, 64)])
def test_tokens_within_a_limit(limit: float, expected: int) -> None:
    pace = Pace()
    pace.limit = limit
    assert pace.tokens(64) == 1, "what is not known is tried with one"
    pace.note_token(1.0)
    assert pace.tokens(64) == expected


@pytest.mark.parametrize("seconds_a_row", [0.001, 0.01, 0.3])
@pytest.mark.parametrize("most", [256, 100, 20])
def test_rows_grow_into_a_limit(seconds_a_row: float, most: int) -> None:
    pace = Pace()
    pace.limit = 0.2
    seen = []
    for _ in range(20):
        seen.append(pace.rows(most))
        pace.note_chunk(seen[-1], seen[-1] * seconds_a_row)
    assert seen[0] == 1
    assert seen[-1] * seconds_a_row <= max(0.2, seconds_a_row)
    larger = [rows for rows in (1, 8, 16, 32, 128, 256, most) if seen[-1] < rows <= most]
    tried = 2 * seen[-1] * seconds_a_row <= 0.2
    assert not larger or not tried or min(larger) * seconds_a_row > 0.2, "no larger one fits"


def test_rows_that_cost_no_more_than_one() -> None:
    """A GPU whose runs take 3 ms however few rows they have, within 2 ms a frame."""
    pace = Pace()
    pace.limit = 0.002
    seen = []
    for _ in range(12):
        seen.append(pace.rows(256))
        pace.note_chunk(seen[-1], 0.003 + 0.00005 * seen[-1])
    assert seen == [1, 8, 16, 32, *[16] * 8], "one row takes 3.05 ms, 32 take 4.6"


def test_work_counts_with_the_least_that_it_took() -> None:
    pace = Pace()
    for seconds in (0.5, 0.1, 3.0, 0.2):  # the device was busy with a frame
        pace.note_token(seconds, 10)
    assert pace.take_spent() == pytest.approx(5.0 + 1.0 + 1.0 + 1.0)
    pace.note_run(4, 2.0, 3)
    pace.note_chunk(8, 0.25)
    assert pace.take_spent() == pytest.approx(6.25)
    assert pace.take_spent() == 0.0
    for _ in range(LEAST_OF):
        pace.note_token(0.7)
    pace.take_spent()
    pace.note_token(0.9)
    assert pace.take_spent() == pytest.approx(0.7), "the least is of late"


def test_rows_that_turn_out_slow_are_left() -> None:
    pace = Pace()
    pace.limit = 0.1
    pace.note_chunk(1, 0.01)
    pace.note_chunk(8, 0.02)
    assert pace.rows(256) == 16
    pace.note_chunk(16, 0.5)
    assert pace.rows(256) == 8
