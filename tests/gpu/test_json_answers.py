"""The default model answers 200 JSON schemas, hot, sixteen at a time: every answer is valid."""

from collections.abc import Generator, Iterator, Sequence

import pytest
from support.default_model import DEFAULT_MODEL
from support.json_schemas import SCHEMAS, check_answer
from support.loading import finish

from llm.generate.answer import Wanted
from llm.generate.decoding import Found, decode
from llm.generate.events import STOP, Ended, Event
from llm.generate.model import Model, load_model
from llm.generate.request import AnswerOptions, Request, SamplingParams
from llm.generate.seat import Seat
from llm.text.answer_format import AnswerFormat

CONTEXT = 512
TOGETHER = 16
MOST = 200  # tokens of an answer

Lane = Generator[Wanted | None, list[int] | None, None]


@pytest.fixture(scope="module")
def gemma() -> Iterator[Model]:
    model = finish(load_model(str(DEFAULT_MODEL), executor="dispatch", context_length=CONTEXT))
    yield model
    model.close()


@pytest.mark.parametrize(("top_k", "names"), [(40, list(SCHEMAS)), (0, list(SCHEMAS)[::10])])
def test_every_answer_is_valid(gemma: Model, top_k: int, names: Sequence[str]) -> None:
    ended = answer_all(gemma, names, top_k)
    assert set(ended) == set(names)
    assert {name: end.reason for name, end in ended.items() if end.reason != STOP} == {}
    for name, end in ended.items():
        check_answer(name, end.text)


def answer_all(model: Model, names: Sequence[str], top_k: int) -> dict[str, Ended]:
    found: dict[str, Ended] = {}
    waiting = iter(names)
    seats = [Seat(model, CONTEXT) for _ in range(TOGETHER)]
    wants: dict[Lane, Wanted] = {}
    for seat in seats:
        go_on(answers(seat, waiting, top_k, found), None, wants)
    while wants:
        made = decode(list(wants.values()), len(wants))
        for lane, tokens in zip(list(wants), made, strict=True):
            go_on(lane, tokens, wants)
    for seat in seats:
        seat.close()
    return found


def go_on(lane: Lane, tokens: Found | None, wants: dict[Lane, Wanted]) -> None:
    """Up to where it wants tokens again, if it does."""
    try:
        want = lane.throw(tokens) if isinstance(tokens, Exception) else lane.send(tokens)
        while want is None:
            want = next(lane)
        wants[lane] = want
    except StopIteration:
        wants.pop(lane, None)


def answers(seat: Seat, names: Iterator[str], top_k: int, found: dict[str, Ended]) -> Lane:
    """One after another, in one conversation's place."""
    for name in names:

        def emit(event: Event, name: str = name) -> None:
            if isinstance(event, Ended):
                found[name] = event

        yield from seat.answer(request(name, top_k), emit)


def request(name: str, top_k: int) -> Request:
    sampling = SamplingParams(temperature=1.5, top_k=top_k, top_p=1.0, min_p=0.0, seed=11)
    format = AnswerFormat.json_schema(SCHEMAS[name])
    messages = ({"role": "user", "content": f"In a game, as JSON: {name}"},)
    return Request(1, messages, AnswerOptions(sampling, MOST, format=format))
