"""A client at a worker that tests step by hand, and everything that was given out."""

from support.fake_model import FakeLoader, FakeModel, says
from support.manual_worker import ManualWorker

from llm.generate.client import Client, new_request_id
from llm.generate.events import Ended, Event
from llm.generate.request import AnswerOptions, Asked, LoadSpec, SamplingParams

SPEC = LoadSpec("fake.gguf", "reference", 128)
OPTIONS = AnswerOptions(SamplingParams(temperature=0.0))


class Desk:
    """A client, its worker and what was given out."""

    def __init__(self, *answers: str, loader: FakeLoader | None = None) -> None:
        self.loader = loader or FakeLoader(lambda: FakeModel(says(*answers), chunk_size=64))
        self.worker = ManualWorker(self.loader)
        self.client = Client(lambda: self.worker)
        self.events: list[Event] = []

    def ask(self, text: str = "Hi", spec: LoadSpec = SPEC, busy_policy: str = "reject") -> int:
        asked = Asked(new_request_id(), text, "", spec, OPTIONS)
        self.client.ask(asked, busy_policy)
        return asked.id

    def complete(self, prompt: str) -> None:
        self.client.ask(Asked(new_request_id(), None, prompt, SPEC, OPTIONS))

    def poll(self) -> None:
        self.events += self.client.poll()

    def run(self) -> None:
        self.worker.run()
        self.poll()

    def ends(self) -> list[tuple[int, str, str]]:
        return [(e.id, e.reason, e.text) for e in self.events if isinstance(e, Ended)]

    def contents(self) -> list[str]:
        return [message["content"] for message in self.client.conversation.messages()]
