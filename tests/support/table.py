"""Several sessions of one model, that take turns by hand."""

from support.fake_model import FakeLoader, FakeModel

from llm.generate.events import Ended, Event
from llm.generate.library import ModelLibrary
from llm.generate.request import AnswerOptions, LoadSpec, Request, SamplingParams
from llm.generate.session import Session
from llm.generate.turns import take_turn

SPEC = LoadSpec("fake.gguf", "reference", 256)


class Table:
    """Sessions of one model, and what they emit."""

    def __init__(self, model: FakeModel, count: int) -> None:
        self.model = model
        library = ModelLibrary(FakeLoader(lambda: model))
        self.events: list[list[Event]] = [[] for _ in range(count)]
        self.sessions = [Session(library, events.append) for events in self.events]
        self.turns = list(self.sessions)  # which a turn puts in another order
        for session in self.sessions:
            session.load(SPEC)
        self.run()

    def ask(self, number: int, prompt: str, sampling: SamplingParams, most: int = 20) -> None:
        options = AnswerOptions(sampling, max_tokens=most)
        self.sessions[number].answer(Request(1, prompt, options))

    def turn(self) -> None:
        take_turn(self.turns, lambda command: command())

    def run(self) -> None:
        while any(session.has_work for session in self.sessions):
            self.turn()

    def ends(self) -> list[Ended]:
        return [event for events in self.events for event in events if isinstance(event, Ended)]
