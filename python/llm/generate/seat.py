"""A client's place at a loaded model: its part of the KV, and answers made from it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from llm.generate.answer import Answer, Steps
from llm.generate.events import Event
from llm.generate.prefix import Prefix
from llm.generate.request import Request

if TYPE_CHECKING:
    from llm.generate.model import Model


class Seat:
    def __init__(self, model: "Model") -> None:
        self._model = model
        self._prefix = Prefix()

    @property
    def executor(self) -> str:
        """Its name, which may change while tokens run."""
        return self._model.executor

    def answer(self, request: Request, emit: Callable[[Event], None]) -> Steps:
        """Steps that answer; see `Answer` for what is emitted."""
        return Answer(self._model, self._prefix, request, emit).run()

    def forget(self) -> None:
        """The next answer computes its whole prompt."""
        self._prefix.clear()

    def close(self) -> None:
        """Frees the model, which is this seat's alone."""
        self._model.close()
