"""A client's line to the worker: its session there, and the model that this has or waits for.

Runs on one thread, in Godot the main one, and never waits for the worker.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from llm.generate.events import Event, ExecutorChanged, Loaded, LoadFailed, ModelInfo
from llm.generate.request import LoadSpec
from llm.generate.session import Session
from llm.generate.worker import Worker


class Connection:
    def __init__(self, worker: Callable[[], Worker]) -> None:
        """`worker` is called when one is needed first: a game that never asks starts no thread."""
        self._worker = worker
        self._session: Session | None = None
        self._arrived: deque[Event] = deque()  # the worker appends
        self.spec: LoadSpec | None = None  # loaded, or being loaded
        self.info: ModelInfo | None = None  # of the loaded model
        self.load_error = ""  # of the latest load, if that failed

    @property
    def is_open(self) -> bool:
        return self._session is not None

    @property
    def is_loading(self) -> bool:
        return self.spec is not None and self.info is None

    def load(self, spec: LoadSpec) -> None:
        """Replaces the model; what is asked from here on waits for it."""
        if self._session is None:
            self._session = self._worker().open_session(self._arrived.append)
        self.spec, self.info, self.load_error = spec, None, ""
        self.post(partial(Session.load, spec=spec))

    def post(self, command: Callable[[Session], None]) -> bool:
        """Has the worker do it to the session. False, and nothing, where there is none to do so."""
        return self._session is not None and self._worker().post(partial(command, self._session))

    def put(self, event: Event) -> None:
        """One of our own, after those that have arrived."""
        self._arrived.append(event)

    def begin_frame(self, number: int) -> None:
        """A frame of the game, with its number: see FrameBudget."""
        self._worker().begin_frame(number)

    def events(self) -> Iterator[Event]:
        """What has arrived, in order, each taken note of when it is taken."""
        while self._arrived:
            event = self._arrived.popleft()
            match event:
                case Loaded(info):
                    self.info = info
                case ExecutorChanged(executor) if self.info is not None:
                    self.info = replace(self.info, executor=executor)
                case LoadFailed(error):
                    self.load_error = error
                    self.spec = None  # so that the next request tries again
            yield event

    def close(self) -> None:
        """Gives the model back. May be used again."""
        if self._session is None:
            return
        self._worker().close_session(self._session)
        self._session = None
        self._arrived = deque()  # what the old session still says is said to nobody
        self.spec = self.info = None
