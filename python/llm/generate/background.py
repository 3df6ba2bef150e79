"""A thread for what takes longer than a frame and needs no model."""

from collections import deque
from collections.abc import Callable
from threading import Lock, Thread

Job = Callable[[], None]


class Background:
    """Does jobs in their order, on a thread that is there while there is something to do."""

    def __init__(self) -> None:
        self._jobs: deque[Job] = deque()
        self._lock = Lock()
        self._thread: Thread | None = None

    def post(self, job: Job) -> None:
        """It must not raise."""
        with self._lock:
            self._jobs.append(job)
            if self._thread is None:
                self._thread = Thread(target=self._run, name="llm-files", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Forgets what waits, and comes back when what is being done is over."""
        with self._lock:
            self._jobs.clear()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._thread = None
                    return
                job = self._jobs.popleft()
            job()
