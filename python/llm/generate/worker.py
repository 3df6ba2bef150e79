"""The one thread that loads models and runs them. It owns the device and every model for life.

Other threads only post commands. Between two steps, and a step is short, the thread looks at them;
with nothing to do it sleeps. Sessions take turns: see turns.py.
"""

import sys
import threading
import time
import traceback
from collections.abc import Callable
from queue import Empty, SimpleQueue

from llm.generate.events import Event
from llm.generate.frame_budget import FrameBudget
from llm.generate.library import LoadModel, ModelLibrary
from llm.generate.session import Session
from llm.generate.turns import take_turn

THREAD_NAME = "llm-worker"

# Seconds. How long another thread, drawing frames, may have to wait while Python runs here.
SWITCH_INTERVAL = 0.0005

# Seconds after which a spent budget is renewed where no frame comes, as in a window that is hidden.
FRAME_PATIENCE = 0.1

Command = Callable[[], None]


class Worker:
    def __init__(self, load_model: LoadModel, release: Command = lambda: None) -> None:
        """Starts the thread. `release` is the last thing it calls, to free what models shared."""
        self._library = ModelLibrary(load_model)
        self._release = release
        self._commands: SimpleQueue[Command | None] = SimpleQueue()  # None: stop
        self._sessions: list[Session] = []  # the worker thread's own
        self._budget = FrameBudget()
        self._stopped = False
        self._open = 0  # sessions, as those who open and close them count
        sys.setswitchinterval(SWITCH_INTERVAL)
        # A daemon, so that a process whose shutdown hook never ran can still exit.
        self._thread = threading.Thread(target=self._run, name=THREAD_NAME, daemon=True)
        self._thread.start()

    @property
    def is_used(self) -> bool:
        """Whether a session is open. On the thread that opens them."""
        return self._open > 0

    def post(self, command: Command) -> bool:
        """Has the worker thread call it between two steps. False, and nothing, once stopped."""
        if self._stopped:
            return False
        self._commands.put(command)
        return True

    def open_session(self, emit: Callable[[Event], None]) -> Session:
        """A session whose methods are to be called through `post` alone, as is `emit` by it."""
        self._open += 1
        session = Session(self._library, emit)
        self.post(lambda: self._sessions.append(session))
        return session

    def close_session(self, session: Session) -> None:
        """Cancels what the session does, frees its model and drops it."""
        self._open -= 1
        self.post(lambda: self._drop(session))

    def begin_frame(self, number: int) -> None:
        """A frame of the game brings time to those whose GPU time is limited."""
        self.post(lambda: self._budget.begin_frame(number))

    def stop(self) -> None:
        """Cancels everything, frees it on its own thread and waits for that. Twice is harmless."""
        if not self._stopped:
            self._stopped = True
            self._commands.put(None)
            self._thread.join()

    def _run(self) -> None:
        try:
            while self._obey_commands():
                self._take_turn()
        finally:
            while self._sessions:
                self._drop(self._sessions[0])
            self._release()

    def _take_turn(self) -> None:
        models = [session.model for session in self._sessions if session.has_work]
        paces = {model.pace for model in models if model is not None}
        for pace in paces:
            pace.limit = self._budget.limit
        started = time.perf_counter()
        take_turn(self._sessions, _guarded)
        spent = sum(pace.take_spent() for pace in paces)
        self._budget.spend(min(spent, time.perf_counter() - started))

    def _has_to_wait(self) -> bool:
        """Whether those that work now have spent their time of this frame."""
        limits = [session.frame_seconds for session in self._sessions if session.has_work]
        self._budget.limit = min((limit for limit in limits if limit > 0.0), default=None)
        return self._budget.is_spent

    def _obey_commands(self) -> bool:
        """Runs what was posted, first waiting for it when there is nothing else to do."""
        is_idle = not any(session.has_work for session in self._sessions)
        while is_idle or self._has_to_wait() or not self._commands.empty():
            try:
                command = self._commands.get(timeout=None if is_idle else FRAME_PATIENCE)
            except Empty:
                command = self._budget.begin_frame
            if command is None:
                return False
            _guarded(command)
            is_idle = False
        return True

    def _drop(self, session: Session) -> None:
        if session in self._sessions:
            self._sessions.remove(session)
        _guarded(session.unload)


def _guarded(command: Command) -> None:
    """One client's fault must not take the thread, and with it everybody's answers, down."""
    try:
        command()
    except Exception:
        traceback.print_exc()
