"""A client with a real model, whose worker is run by hand."""

from pathlib import Path

from support.manual_worker import ManualWorker

from llm.generate.client import Client, new_request_id
from llm.generate.events import Ended, Event
from llm.generate.model import load_model
from llm.generate.request import AnswerOptions, Asked, LoadSpec, SamplingParams

GREEDY = SamplingParams(temperature=0.0)


class Talk:
    def __init__(self, context: int = 96, executor: str = "reference") -> None:
        self.worker = ManualWorker(load_model)
        self.client = Client(lambda: self.worker)
        self.events: list[Event] = []
        self._context, self._executor = context, executor

    def spec(self, path: Path) -> LoadSpec:
        return LoadSpec(str(path), self._executor, self._context)

    def complete(
        self, path: Path, prompt: str, sampling: SamplingParams = GREEDY, max_tokens: int = 8
    ) -> tuple[Ended, list[int]]:
        options = AnswerOptions(sampling, max_tokens)
        self.client.ask(Asked(new_request_id(), None, prompt, self.spec(path), options))
        return self.finish()

    def ask(
        self, path: Path, text: str, options: AnswerOptions | None = None
    ) -> tuple[Ended, list[int]]:
        """A turn of the conversation."""
        self.start(path, text, options)
        return self.finish()

    def start(self, path: Path, text: str, options: AnswerOptions | None = None) -> None:
        """Asks, and leaves the steps to the caller."""
        options = options or AnswerOptions(GREEDY, 8)
        self.client.ask(Asked(new_request_id(), text, "", self.spec(path), options))

    def ask_again(self, path: Path) -> tuple[Ended, list[int]]:
        self.client.ask_again(new_request_id(), "", self.spec(path), AnswerOptions(GREEDY, 8))
        return self.finish()

    def finish(self) -> tuple[Ended, list[int]]:
        """How the answer ended, and its tokens."""
        self.worker.run()
        events = list(self.client.poll())
        self.events += events
        [ended] = [event for event in events if isinstance(event, Ended)]
        return ended, list(self.client.token_ids)
