"""What clients of the worker have in common: the model's load, and events to be given out."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from llm.generate.connection import Connection
from llm.generate.events import Event, Loaded, ModelInfo
from llm.generate.request import LoadSpec
from llm.generate.worker import Worker


class ModelClient:
    def __init__(self, worker: Callable[[], Worker]) -> None:
        """`worker` is called when one is needed first: a game that never asks starts no thread."""
        self._connection = Connection(worker)
        self._ready: deque[Event] = deque()  # taken note of, to be given out

    if TYPE_CHECKING:

        def cancel(self) -> None:
            """Ends what runs and what waits as cancelled, at once."""

        def _absorb(self) -> None:
            """Takes note of what has arrived."""

    @property
    def info(self) -> ModelInfo | None:
        """Of the loaded model."""
        return self._connection.info

    @property
    def load_error(self) -> str:
        """Of the latest load, if that failed."""
        return self._connection.load_error

    def load(self, spec: LoadSpec) -> None:
        """Loads, unless that model is there or on its way. Replacing another cancels requests."""
        if spec != self._connection.spec:
            self.cancel()
            self._connection.load(spec)
        elif self.info is not None:
            self._ready.append(Loaded(self.info))  # so that who waits for it is told

    def poll(self) -> Iterator[Event]:
        """What happened since, in order. The receiver of one may ask again or close at once."""
        self._absorb()
        while self._ready:
            yield self._ready.popleft()
            self._absorb()
