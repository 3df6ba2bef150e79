"""A worker without a thread, for tests that say themselves when it obeys and when it steps."""

from collections import deque
from collections.abc import Callable

from llm.generate.events import Event
from llm.generate.library import LoadModel, ModelLibrary
from llm.generate.session import Session
from llm.generate.turns import take_turn


class ManualWorker:
    def __init__(self, load_model: LoadModel) -> None:
        self.library = ModelLibrary(load_model)
        self.commands: deque[Callable[[], None]] = deque()
        self.sessions: list[Session] = []
        self.is_stopped = False

    def post(self, command: Callable[[], None]) -> bool:
        if not self.is_stopped:
            self.commands.append(command)
        return not self.is_stopped

    def open_session(self, emit: Callable[[Event], None]) -> Session:
        self.sessions.append(Session(self.library, emit))
        return self.sessions[-1]

    def close_session(self, session: Session) -> None:
        self.post(session.unload)

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            while self.commands:
                self.commands.popleft()()
            for _ in self.sessions:
                take_turn(self.sessions, lambda command: command())

    def run(self) -> None:
        self.step()
        while any(session.has_work for session in self.sessions):
            self.step()
