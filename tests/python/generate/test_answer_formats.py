"""Answers that keep to a format, and the probabilities that come with them."""

import json
import re

import pytest
from support.answering import GREEDY, chat, raw, run, seat_at, steps_of
from support.fake_model import BOS, FakeModel
from support.table import Table

from llm.generate.events import ERROR, LENGTH, STOP, Event, Updated
from llm.generate.request import AnswerOptions, Request, SamplingParams
from llm.text.answer_format import REGEX, AnswerFormat

WARM = SamplingParams(temperature=1.5, seed=3)
ALIKE = SamplingParams(temperature=9.0, top_k=60, top_p=1.0, min_p=0.0, seed=8)
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 3}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
BOOLEAN = AnswerFormat.choices(("true", "false"))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("prompt", ["Hi", "Hello there, who are you?"])
def test_an_answer_keeps_to_its_format(seed: int, prompt: str) -> None:
    hot = SamplingParams(temperature=1.5, top_k=0, top_p=1.0, min_p=0.0, seed=seed)
    format = AnswerFormat.json_schema(PERSON)
    seat = seat_at(FakeModel())
    _, ended = run(seat, raw(prompt, hot, format=format, max_tokens=90))
    if ended.reason == LENGTH:  # of an age without end
        assert re.fullmatch(r'\{"name": ".{0,30}", "age": -?[0-9]+', ended.text)
    else:
        assert ended.reason == STOP
        found = json.loads(ended.text)
        assert list(found) == ["name", "age"]
        assert isinstance(found["age"], int)


def test_what_is_forced_is_computed_in_chunks() -> None:
    model = FakeModel(chunk_size=8)
    format = AnswerFormat(REGEX, "the only answer[.!]")
    pieces, ended = run(seat_at(model), raw("Q", format=format))
    assert ended.text in ("the only answer.", "the only answer!")
    assert ended.reason == STOP
    assert model.forwards == [(0, 2), (2, 8), (10, 7)]
    assert model.kv() == [BOS, *b"Qthe only answer"]
    assert ended.stats.generated_tokens == 16 == len(pieces)


@pytest.mark.parametrize("most", [1, 5, 15, 16])
def test_what_is_forced_counts(most: int) -> None:
    format = AnswerFormat(REGEX, "the only answer[.]")
    _, ended = run(seat_at(FakeModel()), raw("Q", format=format, max_tokens=most))
    assert ended.text == "the only answer."[:most]
    assert ended.reason == (STOP if most == 16 else LENGTH)


def test_a_format_begins_anew_with_each_answer() -> None:
    seat = seat_at(FakeModel())
    for _ in range(3):
        _, ended = run(seat, chat("Is it so?", format=BOOLEAN))
        assert ended.text in ("true", "false")


def test_a_wrong_format_ends_one_answer() -> None:
    seat = seat_at(FakeModel())
    _, ended = run(seat, raw("Q", format=AnswerFormat(REGEX, "(")))
    assert (ended.reason, ended.text) == (ERROR, "")
    assert "regex" in ended.error
    assert run(seat, raw("Q", format=BOOLEAN))[1].reason == STOP


def test_probabilities_come_with_each_token() -> None:
    events: list[Event] = []
    request = raw("Q", format=AnswerFormat(REGEX, "ab?c"), n_probs=2)
    for _ in steps_of(seat_at(FakeModel()), request, events.append):
        pass
    updates = [event for event in events if isinstance(event, Updated)]
    # where only one may come, as a first, and c after b, nothing is drawn
    assert [len(update.likely) for update in updates] == [1, 3, 1][: len(updates)]
    for update in updates:
        assert update.likely[0].token == update.token
    assert sum(each.probability for each in updates[1].likely[1:]) == pytest.approx(1.0)


FORMATS = [
    AnswerFormat.json_schema(PERSON),
    AnswerFormat(REGEX, "(the same again and |[a-z ]{1,9}[.!]){1,6}"),
    AnswerFormat(REGEX, "(.|\\n)*"),
    AnswerFormat.choices(("yes", "yes indeed", "no")),
]


@pytest.mark.parametrize("format", FORMATS, ids=["schema", "forced", "any", "choices"])
@pytest.mark.parametrize("sampling", [GREEDY, WARM, ALIKE], ids=["greedy", "warm", "alike"])
@pytest.mark.parametrize("ahead", [2, 5, 16])
@pytest.mark.parametrize("is_recurrent", [False, True], ids=["", "recurrent"])
def test_what_is_made_ahead_is_what_would_have_been_made(
    format: AnswerFormat, sampling: SamplingParams, ahead: int, is_recurrent: bool
) -> None:
    """Cut where the format does not let it come, and where something else is forced."""
    for prompt in ("Hi", "Hello there", "Who is it?"):
        request = raw(prompt, sampling, format=format, max_tokens=60)
        slow = FakeModel(context_length=256)
        quick = FakeModel(context_length=256, ahead=ahead, is_recurrent=is_recurrent)
        seats = [seat_at(slow), seat_at(quick)]
        (_, expected), (_, found) = (run(seat, request) for seat in seats)
        assert (found.text, found.reason) == (expected.text, expected.reason)
        assert found.stats.generated_tokens == expected.stats.generated_tokens
        # what is there is right: going on from it changes nothing
        again = [run(seat, raw(prompt + found.text, max_tokens=5))[1].text for seat in seats]
        assert again[0] == again[1]
    if format is FORMATS[2] and sampling is GREEDY and not is_recurrent:
        assert len(quick.forwards) < 1.3 * len(slow.forwards), "little is made for nothing"


@pytest.mark.parametrize("count", [2, 5])
@pytest.mark.parametrize("takes_turns", [False, True])
@pytest.mark.parametrize("is_recurrent", [False, True], ids=["", "recurrent"])
def test_formats_side_by_side(count: int, takes_turns: bool, is_recurrent: bool) -> None:
    """Each says what it says alone, whoever runs with it."""

    def texts(model: FakeModel, numbers: list[int]) -> list[str]:
        table = Table(model, len(numbers))
        for place, number in enumerate(numbers):
            sampling = (GREEDY, WARM, SamplingParams(seed=4, typical_p=0.9))[number % 3]
            format = FORMATS[number % len(FORMATS)] if number != 1 else None
            options = AnswerOptions(sampling, max_tokens=40, format=format)
            table.sessions[place].answer(Request(1, f"prompt {number}", options))
        table.run()
        return [ended.text for ended in table.ends()]

    alone = [texts(FakeModel(context_length=256), [number])[0] for number in range(count)]
    together = FakeModel(
        context_length=256,
        ahead=8,
        runs_ahead=4,
        takes_turns=takes_turns,
        is_recurrent=is_recurrent,
    )
    assert texts(together, list(range(count))) == alone


def test_what_is_forced_in_place_of_what_was_made() -> None:
    """Some of what was made stands at the same places all the same; none of it is kept."""
    format = AnswerFormat(REGEX, "[ab][cd]XefgY[pq][pq]")
    model = FakeModel([*b"a", *b"czef", *b"p", *b"qz"], ahead=8)
    seat = seat_at(model)
    _, ended = run(seat, raw("Q", format=format))
    assert (ended.text, ended.reason) == ("acXefgYpq", "stop")
    assert seat._sequence.ids == [BOS, *b"QacXefgYp"]
    assert model.cells[seat._sequence._pages[0], :10].tolist() == seat._sequence.ids
