"""An embedding node's side of the worker: takes requests, several at a time, and drains events.

Runs on one thread, in Godot the main one, never waits for the worker and never touches a model.
"""

from collections import deque
from collections.abc import Callable
from functools import partial

from llm.errors import RequestError
from llm.generate.events import CANCELLED, Embedded, Ended, Event
from llm.generate.model_client import ModelClient
from llm.generate.request import EmbeddingRequest, LoadSpec
from llm.generate.session import Session
from llm.generate.worker import Worker


class EmbeddingClient(ModelClient):
    """Requests are done in their order, and each ends with one `Embedded` or `Ended` of its id."""

    def __init__(self, worker: Callable[[], Worker]) -> None:
        super().__init__(worker)
        self._pending: dict[int, None] = {}  # ids, in their order

    def embed(self, request: EmbeddingRequest, spec: LoadSpec) -> None:
        """Loads first where needed. RequestError where the worker takes nothing more."""
        self._absorb()  # a load may have failed, only not yet been given out
        if spec != self._connection.spec:
            self.load(spec)
        if not self._connection.post(partial(Session.answer, request=request)):
            raise RequestError("the engine is shutting down")
        self._pending[request.id] = None

    def close(self) -> list[Event]:
        """Unloads, and gives the last events, with an end of each request. Usable again."""
        self._absorb()
        self.cancel()
        self._connection.close()
        last, self._ready = list(self._ready), deque()
        return last

    def cancel(self) -> None:
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
