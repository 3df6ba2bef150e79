"""A session stepped by hand: loads and answers in order, and cancels in every phase."""

import pytest
from support.fake_model import FakeLoader, FakeModel, says

from llm.errors import DeviceMemoryError, ModelFileError
from llm.generate.events import Ended, Event, Loaded, LoadFailed, LoadProgressed
from llm.generate.library import ModelLibrary
from llm.generate.request import AnswerOptions, LoadSpec, Request, SamplingParams
from llm.generate.session import Session
from llm.generate.turns import take_turn

SPEC = LoadSpec("fake.gguf", "reference", 64)
OPTIONS = AnswerOptions(SamplingParams(temperature=0.0))


class Stepped:
    """A session, and everything it emitted."""

    def __init__(self, loader: FakeLoader) -> None:
        self.events: list[Event] = []
        self.session = Session(ModelLibrary(loader), self.events.append)

    def ask(self, request_id: int, prompt: str = "Hi") -> None:
        self.session.answer(Request(request_id, prompt, OPTIONS))

    def run(self) -> None:
        while self.session.has_work:
            self.step()

    def step(self) -> None:
        take_turn([self.session], lambda command: command())

    def ends(self) -> list[tuple[int, str]]:
        return [(event.id, event.reason) for event in self.events if isinstance(event, Ended)]


def test_load_then_answers_in_order() -> None:
    loader = FakeLoader(lambda: FakeModel(says("one", "two")))
    stepped = Stepped(loader)
    stepped.session.load(SPEC)
    stepped.ask(1)
    stepped.ask(2)
    stepped.run()
    assert loader.calls == [("fake.gguf", "reference", 64)]
    assert [e.fraction for e in stepped.events if isinstance(e, LoadProgressed)] == [
        0.25,
        0.5,
        0.75,
        1.0,
    ]
    texts = [event.text for event in stepped.events if isinstance(event, Ended)]
    assert (texts, stepped.ends()) == (["one", "two"], [(1, "stop"), (2, "stop")])
    [loaded] = [event for event in stepped.events if isinstance(event, Loaded)]
    assert (loaded.info.name, loaded.info.context_length) == ("fake", 64)
    assert loaded.info.chat_format == "fallback"
    assert loaded.info.load_s > 0


def test_progress_is_not_told_more_finely_than_a_hundredth() -> None:
    stepped = Stepped(FakeLoader(FakeModel, pieces=1000))
    stepped.session.load(SPEC)
    stepped.run()
    fractions = [e.fraction for e in stepped.events if isinstance(e, LoadProgressed)]
    assert 90 <= len(fractions) <= 101
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


@pytest.mark.parametrize(
    ("problem", "error", "is_ours"),
    [
        (ModelFileError("f", "magic", "is b'GGML'"), "f: magic: is b'GGML'", False),
        (DeviceMemoryError("too big"), "too big", False),
        (ZeroDivisionError("ours"), "ZeroDivisionError: ours", True),
    ],
)
def test_a_failed_load_ends_what_waits_and_may_be_tried_again(
    problem: Exception, error: str, is_ours: bool
) -> None:
    stepped = Stepped(FakeLoader(problem, lambda: FakeModel(says("one"))))
    stepped.session.load(SPEC)
    stepped.ask(1)
    stepped.ask(2)
    stepped.run()
    [failed] = [event for event in stepped.events if isinstance(event, LoadFailed)]
    assert failed.error == error
    assert ("Traceback" in failed.details) == is_ours
    assert [e.error for e in stepped.events if isinstance(e, Ended)] == [error, error]
    assert stepped.ends() == [(1, "error"), (2, "error")]

    stepped.session.load(SPEC)
    stepped.ask(3)
    stepped.run()
    assert stepped.ends()[2:] == [(3, "stop")]


def test_a_request_without_a_load_is_an_error() -> None:
    stepped = Stepped(FakeLoader())
    stepped.ask(1)
    stepped.run()
    assert stepped.ends() == [(1, "error")]


# The load takes 5 steps (4 pieces and the end), the prompt 2 and each of the 3 tokens 1.
@pytest.mark.parametrize("steps", range(11))
def test_cancelled_in_every_phase(steps: int) -> None:
    loader = FakeLoader(lambda: FakeModel(says("abc", "next"), chunk_size=64))
    stepped = Stepped(loader)
    stepped.session.load(SPEC)
    stepped.ask(1)
    for _ in range(steps):
        if stepped.session.has_work:
            stepped.step()
    stepped.session.cancel(1)
    stepped.session.cancel(1)
    expected = [(1, "stop" if steps == 10 else "cancelled")]
    assert stepped.ends() == expected
    stepped.ask(2)
    stepped.run()
    assert stepped.ends() == [*expected, (2, "stop")], "the load goes on, and so does the next"


@pytest.mark.parametrize("steps", range(11))
def test_unloaded_in_every_phase(steps: int) -> None:
    loader = FakeLoader(lambda: FakeModel(says("abc"), chunk_size=64))
    stepped = Stepped(loader)
    stepped.session.load(SPEC)
    stepped.ask(1)
    stepped.ask(2)
    for _ in range(steps):
        stepped.step()
    stepped.session.unload()
    assert not stepped.session.has_work
    first = "stop" if steps == 10 else "cancelled"
    assert stepped.ends() == [(1, first), (2, "cancelled")]
    assert loader.abandoned == (1 if 0 < steps < 5 else 0)
    assert all(model.is_closed for model in loader.loaded)
    assert len(loader.loaded) == (1 if steps >= 5 else 0)


def test_another_load_replaces_the_model() -> None:
    loader = FakeLoader(lambda: FakeModel(says("old")), lambda: FakeModel(says("new")))
    stepped = Stepped(loader)
    stepped.session.load(SPEC)
    stepped.run()
    stepped.ask(1)
    stepped.session.load(LoadSpec("other.gguf", "reference", 64))
    stepped.ask(2)
    stepped.run()
    assert stepped.ends() == [(1, "cancelled"), (2, "stop")]
    assert [model.is_closed for model in loader.loaded] == [True, False]


def test_cancelling_another_request_changes_nothing() -> None:
    stepped = Stepped(FakeLoader(lambda: FakeModel(says("one"))))
    stepped.session.load(SPEC)
    stepped.ask(1)
    for _ in range(6):
        stepped.step()
    stepped.session.cancel(7)
    stepped.run()
    assert stepped.ends() == [(1, "stop")]
