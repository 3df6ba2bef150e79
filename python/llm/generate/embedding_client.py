"""An embedding node's side of the worker: takes requests, several at a time, and drains events.

Runs on one thread, in Godot the main one, never waits for the worker and never touches a model.
"""

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

from llm.errors import RequestError
from llm.generate.connection import Connection
from llm.generate.events import CANCELLED, Embedded, Ended, Event, Loaded, ModelInfo
from llm.generate.request import EmbeddingRequest, LoadSpec
from llm.generate.session import Session
from llm.generate.worker import Worker


class EmbeddingClient:
    """Requests are done in their order, and each ends with one `Embedded` or `Ended` of its id."""

    def __init__(self, worker: Callable[[], Worker]) -> None:
        self._connection = Connection(worker)
        self._pending: dict[int, None] = {}  # ids, in their order
        self._ready: deque[Event] = deque()  # taken note of, to be given out

    @property
    def info(self) -> ModelInfo | None:
        return self._connection.info

    @property
    def load_error(self) -> str:
        """Of the latest load, if that failed."""
        return self._connection.load_error

    def load(self, spec: LoadSpec) -> None:
        """Loads, unless that model is there or on its way. Replacing another cancels requests."""
        if spec != self._connection.spec:
            self._cancel()
            self._connection.load(spec)
        elif self.info is not None:
            self._ready.append(Loaded(self.info))  # so that who waits for it is told

    def embed(self, request: EmbeddingRequest, spec: LoadSpec) -> None:
        """Loads first where needed. RequestError where the worker takes nothing more."""
        self._absorb()  # a load may have failed, only not yet been given out
        if spec != self._connection.spec:
            self.load(spec)
        if not self._connection.post(partial(Session.answer, request=request)):
            raise RequestError("the engine is shutting down")
        self._pending[request.id] = None

    def poll(self) -> Iterator[Event]:
        """What happened since, in order. The receiver of one may ask again or close at once."""
        self._absorb()
        while self._ready:
            yield self._ready.popleft()
            self._absorb()

    def close(self) -> list[Event]:
        """Unloads, and gives the last events, with an end of each request. Usable again."""
        self._absorb()
        self._cancel()
        self._connection.close()
        last, self._ready = list(self._ready), deque()
        return last

    def _cancel(self) -> None:
        """For the client they are over at once; the worker ends them when it loads or unloads."""
        self._ready += [Ended(request_id, CANCELLED, "") for request_id in self._pending]
        self._pending = {}

    def _absorb(self) -> None:
        for event in self._connection.events():
            if isinstance(event, Embedded | Ended):
                if event.id not in self._pending:
                    continue  # it was cancelled, so for the client it has ended
                del self._pending[event.id]
            self._ready.append(event)
