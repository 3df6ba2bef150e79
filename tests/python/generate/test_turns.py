"""Several sessions of one model: they run together, nobody starves, and a fault is one's own."""

from itertools import pairwise
from typing import Any

import pytest
from support.fake_model import END, FakeLoader, FakeModel
from support.table import SPEC, Table

from llm.errors import NumericError
from llm.generate.events import Ended, Event, Updated
from llm.generate.library import ModelLibrary
from llm.generate.request import AnswerOptions, Request, SamplingParams
from llm.generate.session import Session
from llm.gpu.program import ROWS_APART

SAMPLINGS = [
    SamplingParams(temperature=0.0),
    SamplingParams(temperature=1.5, seed=3),
    SamplingParams(temperature=1.5, top_k=0, seed=4),
    SamplingParams(temperature=0.7, repeat_penalty=1.3, seed=5),
]


def texts(count: int, *, at_once: bool, **options: Any) -> list[str]:
    table = Table(FakeModel(**options), count)
    for number in range(count):
        table.ask(number, f"prompt {number % 3}", SAMPLINGS[number % len(SAMPLINGS)])
        if not at_once:
            table.run()
    table.run()
    return [ended.text for ended in table.ends()]


@pytest.mark.parametrize("ahead", [1, 30])
@pytest.mark.parametrize("takes_turns", [False, True])
def test_each_says_what_it_says_alone(ahead: int, takes_turns: bool) -> None:
    options = {"ahead": ahead, "takes_turns": takes_turns}
    together, alone = (texts(9, at_once=at_once, **options) for at_once in (True, False))
    assert together == alone
    assert len(set(together)) > 6


def test_they_run_together() -> None:
    model = FakeModel(ahead=5)
    table = Table(model, 6)
    for number in range(6):
        table.ask(number, "x" * number, SAMPLINGS[1])
    table.run()
    assert model.together.count(6) >= 10
    chunks = [count for position, count in model.forwards if position > 8]
    assert len(chunks) < 12  # alone are only the first and the last for a few tokens


@pytest.mark.parametrize("count", [2, 5])
def test_a_beginning_in_common_is_computed_once(count: int) -> None:
    """Also where all ask at once, and each takes a chunk in its turn."""
    model = FakeModel(chunk_size=8)
    table = Table(model, count)
    for number in range(count):
        table.ask(number, f"{'x' * 50} {number}", SAMPLINGS[0], most=1)
    table.run()
    shared, own = 1 + 50 + 1, 1  # BOS and the blank, too
    computed = sum(length for _, length in model.forwards)
    assert computed <= shared + count * (own + 8)
    cached = [ended.stats.cached_tokens for ended in table.ends()]
    assert sum(cached) == count * (shared + own) - computed


def test_they_take_turns_where_that_is_quicker() -> None:
    """A few tokens of each, no more together than of one alone."""
    model = FakeModel(ahead=12, takes_turns=True)
    table = Table(model, 4)
    for number in range(4):
        table.ask(number, "abc", SAMPLINGS[0], most=20)
    counts: list[int] = []
    while any(session.has_work for session in table.sessions):
        before = len(model.forwards)
        table.turn()
        counts.append(len(model.forwards) - before)
    assert not model.together
    assert 3 <= max(counts) <= 12


def test_more_than_a_run_takes() -> None:
    count = ROWS_APART + 3
    model = FakeModel(chunk_size=64)
    table = Table(model, count)
    for number in range(count):
        table.ask(number, "abc", SAMPLINGS[1], most=50)
    table.run()
    assert max(model.together) == ROWS_APART
    assert {ended.reason for ended in table.ends()} == {"length"}


def test_a_long_prompt_does_not_hold_up_the_others() -> None:
    table = Table(FakeModel(chunk_size=2), 2)
    table.ask(0, "abc", SAMPLINGS[0], most=60)
    for _ in range(4):
        table.turn()
    table.ask(1, "y" * 80, SAMPLINGS[0], most=1)
    counts = []
    while not any(isinstance(event, Ended) for event in table.events[1]):
        table.turn()
        counts.append(sum(isinstance(event, Updated) for event in table.events[0]))
    assert all(after - before == 1 for before, after in pairwise(counts))


def test_one_that_comes_later_joins_between_tokens() -> None:
    model = FakeModel()
    table = Table(model, 2)
    table.ask(0, "abc", SAMPLINGS[0], most=30)
    for _ in range(10):
        table.turn()
    table.ask(1, "abc", SAMPLINGS[0], most=5)
    table.run()
    assert model.together.count(2) == 4  # of its five tokens the first is the prompt's
    assert [ended.reason for ended in table.ends()] == ["length", "length"]


def test_one_that_is_stopped_leaves_the_others_going() -> None:
    table = Table(FakeModel(), 3)
    for number in range(3):
        table.ask(number, "abc", SAMPLINGS[1], most=15)
    for _ in range(9):
        table.turn()
    table.sessions[1].cancel(1)
    table.run()
    assert [ended.reason for ended in table.ends()] == ["length", "cancelled", "length"]


class Faulty(FakeModel):
    """The logits of sequence 1 are NaN where it sees a certain token."""

    def candidates(self, k, adjustments=None, output=-1):  # type: ignore[no-untyped-def]
        if len(self._scores) > 1:
            raise NumericError("one of the rows is NaN")
        if 300 in self.latest:
            raise NumericError("its logits are NaN")
        return super().candidates(k, adjustments, output)

    def _next_scores(self, sequence: int):  # type: ignore[no-untyped-def]
        self.latest = [300] if sequence == 1 and len(self.kv(1)) > 12 else []
        return super()._next_scores(sequence)


def test_a_fault_ends_the_answer_whose_it_is() -> None:
    table = Table(Faulty(), 3)
    for number in range(3):
        table.ask(number, "abcd", SAMPLINGS[1], most=15)
    table.run()
    by_sequence = {
        session._seat._sequence.number: ended
        for session, ended in zip(table.sessions, table.ends(), strict=True)
    }
    assert [by_sequence[number].reason for number in range(3)] == ["length", "error", "length"]
    assert by_sequence[1].error == "its logits are NaN"
    alone = Table(FakeModel(), 1)
    alone.ask(0, "abcd", SAMPLINGS[1], most=15)
    alone.run()
    assert {by_sequence[number].text for number in (0, 2)} == {alone.ends()[0].text}
    assert not any(sequence.is_busy for sequence in table.model.sequences)


def test_a_model_without_room_for_another_node() -> None:
    model = FakeModel()
    library = ModelLibrary(FakeLoader(lambda: model))
    for _ in range(64):
        model.sequences.open()
    events: list[Event] = []
    session = Session(library, events.append)
    session.load(SPEC)
    while session.has_work:
        session.step()
    assert "64 nodes use fake already" in str(events[-1])
    assert model.is_closed


def first_steps(priorities: list[int], turns: int) -> list[int]:
    """Which session began a chunk of its prompt, turn by turn."""
    table = Table(FakeModel(chunk_size=1, context_length=1024), len(priorities))
    for number, priority in enumerate(priorities):
        options = AnswerOptions(SAMPLINGS[0], max_tokens=1, priority=priority)
        prompt = chr(ord("a") + number) * 60  # none begins as another does
        table.sessions[number].answer(Request(1, prompt, options))
    found = []
    for _ in range(turns):
        before = [session.skipped for session in table.sessions]
        table.turn()
        found.append(
            next(
                number
                for number, session in enumerate(table.sessions)
                if session.skipped <= before[number] and session.skipped == 0
            )
        )
    return found


def test_prompts_of_a_higher_priority_come_first() -> None:
    assert set(first_steps([0, 50, 0], 40)) == {1}


def test_none_starves() -> None:
    found = first_steps([0, 5, 0], 60)
    assert found.count(1) > 40
    assert {found.count(0), found.count(2)} <= {6, 7, 8, 9, 10}


def test_equals_take_turns() -> None:
    found = first_steps([3, 3, 3], 9)
    assert sorted(found[:3]) == [0, 1, 2]
    assert found == found[:3] * 3


@pytest.mark.parametrize("runs_ahead", [2, 3, 8])
def test_runs_that_follow_each_other_change_nothing(runs_ahead: int) -> None:
    def said(**options: Any) -> list[tuple[str, str]]:
        table = Table(FakeModel(**options), 4)
        for number in range(4):
            table.ask(number, f"prompt {number % 3}", SAMPLINGS[number % 2], most=5 + 4 * number)
        table.run()
        return [(ended.text, ended.reason) for ended in table.ends()]

    assert sorted(said(runs_ahead=runs_ahead)) == sorted(said())


@pytest.mark.parametrize("is_recurrent", [False, True], ids=["", "recurrent"])
def test_an_end_within_runs_that_follow_each_other(is_recurrent: bool) -> None:
    """What is made beyond it harms nobody: the next answer goes on as it would have."""
    first, second = (
        Table(FakeModel(runs_ahead=ahead, is_recurrent=is_recurrent), 2) for ahead in (1, 8)
    )
    for table in (first, second):
        table.model._next_scores = ends_after(6, table.model)  # type: ignore[method-assign]
        for _ in range(2):
            for number in range(2):
                table.ask(number, f"prompt {number}", SAMPLINGS[0])
            table.run()
    assert [e.text for e in first.ends()] == [e.text for e in second.ends()]
    assert {e.reason for e in second.ends()} == {"stop"}


def ends_after(count: int, model: FakeModel) -> Any:
    """Scores that end an answer when so many tokens follow a prompt of 10."""
    scores = model._next_scores

    def found(sequence: int) -> Any:
        if len(model.kv(sequence)) >= 9 + count:
            ends = scores(sequence)
            ends[:] = -100.0
            ends[END] = 0.0
            return ends
        return scores(sequence)

    return found
