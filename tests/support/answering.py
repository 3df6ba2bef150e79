"""Answers stepped by hand, and what they tell."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from support.fake_model import FakeModel

from llm.generate.decoding import decode
from llm.generate.events import Ended, Event, Updated
from llm.generate.request import AnswerOptions, Request, SamplingParams
from llm.generate.seat import Seat

GREEDY = SamplingParams(temperature=0.0)
HOT = SamplingParams(temperature=1.5, top_k=0, top_p=1.0, min_p=0.0, seed=3)


def raw(prompt: str, sampling: SamplingParams = GREEDY, **options: Any) -> Request:
    return Request(1, prompt, AnswerOptions(sampling, **options))


def chat(*contents: str, **options: Any) -> Request:
    roles = ("user", "assistant")
    messages = tuple(
        {"role": roles[index % 2], "content": content} for index, content in enumerate(contents)
    )
    return Request(1, messages, AnswerOptions(GREEDY, **options))


def seat_at(model: Any) -> Seat:
    return Seat(model, 1000)


def steps_of(seat: Seat, request: Request, emit: Callable[[Event], None]) -> Iterator[None]:
    """With the tokens that it wants, made at the next step."""
    answering = seat.answer(request, emit)
    step = partial(next, answering)
    try:
        while True:
            wanted = step()
            yield
            found = decode([wanted], 1)[0] if wanted else None
            is_fault = isinstance(found, Exception)
            step = partial(answering.throw if is_fault else answering.send, found)  # type: ignore[arg-type]
    except StopIteration:
        return
    finally:
        answering.close()


def run(seat: Seat, request: Request, steps: int | None = None) -> tuple[list[str], Ended]:
    """The pieces that were not empty, and the end. After `steps` steps it is closed."""
    events: list[Event] = []
    answering = steps_of(seat, request, events.append)
    if steps is None:
        for _ in answering:
            pass
    else:
        for _ in range(steps):
            next(answering)
        answering.close()
    *updates, ended = events
    assert isinstance(ended, Ended)
    assert all(isinstance(update, Updated) for update in updates), "one end, and it is the last"
    pieces = [update.text for update in updates if update.text]
    assert "".join(pieces) == ended.text
    return pieces, ended


def run_events(seat: Seat, request: Request) -> list[Event]:
    """All of them, to the end."""
    events: list[Event] = []
    for _ in steps_of(seat, request, events.append):
        pass
    return events


def token_ids(model: FakeModel, request: Request) -> list[int]:
    events = run_events(seat_at(model), request)
    return [e.token for e in events if isinstance(e, Updated) and e.token is not None]
