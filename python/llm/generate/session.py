"""One client on the worker thread: its seat at a model, and its queue of jobs.

Everything here runs on the worker thread. Jobs run one after another; a step of the current one is
the unit in which sessions take turns.
"""

import time
import traceback
from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Protocol

from llm.errors import LLMError, printable
from llm.generate.events import (
    CANCELLED,
    ERROR,
    Ended,
    Event,
    ExecutorChanged,
    Loaded,
    LoadFailed,
    LoadProgressed,
    ModelInfo,
)
from llm.generate.request import LoadSpec, Request

if TYPE_CHECKING:
    from llm.generate.model import Model
    from llm.generate.seat import Seat

Steps = Generator[None, None, None]


class LoadModel(Protocol):
    """Loads in pieces, yielding the fraction done; closing it early frees everything."""

    def __call__(
        self, path: str, *, executor: str, context_length: int
    ) -> "Generator[float, None, Model]": ...


class Session:
    def __init__(self, load_model: LoadModel, emit: Callable[[Event], None]) -> None:
        self._load_model = load_model
        self._emit = emit
        self._seat: Seat | None = None
        self._executor = ""  # that the client knows of
        self._load_error = "no model was loaded"
        self._queue: deque[LoadSpec | Request] = deque()
        self._job: LoadSpec | Request | None = None  # the one that `_steps` belongs to
        self._steps: Steps | None = None

    @property
    def has_work(self) -> bool:
        return self._steps is not None or bool(self._queue)

    def load(self, spec: LoadSpec) -> None:
        """Replaces the model. What was asked of the one before ends as cancelled."""
        self.unload()
        self._queue.append(spec)

    def answer(self, request: Request) -> None:
        self._queue.append(request)

    def cancel(self, request_id: int) -> None:
        """Ends the request, waiting or running, as cancelled. Nothing when it is over already."""
        if isinstance(self._job, Request) and self._job.id == request_id:
            self._stop_job()
            return
        for job in list(self._queue):
            if isinstance(job, Request) and job.id == request_id:
                self._queue.remove(job)
                self._emit(Ended(job.id, CANCELLED, ""))

    def forget(self) -> None:
        """Forgets what is in the KV, so that the next answer computes its whole prompt."""
        if self._seat is not None:
            self._seat.forget()

    def unload(self) -> None:
        """Cancels everything and frees the model."""
        self._stop_job()
        while self._queue:
            job = self._queue.popleft()
            if isinstance(job, Request):
                self._emit(Ended(job.id, CANCELLED, ""))
        if self._seat is not None:
            seat, self._seat = self._seat, None
            seat.close()

    def step(self) -> None:
        """One piece of loading, one chunk of a prompt or one token."""
        if self._steps is None:
            self._job = self._queue.popleft()
            self._steps = self._start(self._job)
        try:
            next(self._steps)
        except StopIteration:
            self._job = self._steps = None
        self._tell_executor()

    def _stop_job(self) -> None:
        if self._steps is not None:
            self._steps.close()
        self._job = self._steps = None

    def _start(self, job: LoadSpec | Request) -> Steps:
        return self._run_load(job) if isinstance(job, LoadSpec) else self._run_answer(job)

    def _run_load(self, spec: LoadSpec) -> Steps:
        started = time.perf_counter()
        try:
            # numpy and the rest are imported here, by the first load, and not at engine start.
            from llm.generate.seat import Seat

            loading = self._load_model(
                spec.path, executor=spec.executor, context_length=spec.context_length
            )
            model = yield from self._report_progress(loading)
        except LLMError as problem:
            self._fail_load(str(problem))
        except Exception as problem:
            error = printable(f"{type(problem).__name__}: {problem}")
            self._fail_load(error, traceback.format_exc())
        else:
            self._seat, self._executor = Seat(model), model.executor
            self._emit(Loaded(_describe(model, time.perf_counter() - started)))

    def _report_progress(
        self, loading: "Generator[float, None, Model]"
    ) -> "Generator[None, None, Model]":
        reported = -1.0
        try:
            while True:
                fraction = next(loading)
                if fraction - reported >= 0.01 or (fraction == 1.0 > reported):
                    reported = fraction
                    self._emit(LoadProgressed(fraction))
                yield
        except StopIteration as finished:
            model: Model = finished.value
            return model
        finally:
            loading.close()

    def _fail_load(self, error: str, details: str = "") -> None:
        self._load_error = error
        self._emit(LoadFailed(error, details))

    def _run_answer(self, request: Request) -> Steps:
        if self._seat is None:
            self._emit(Ended(request.id, ERROR, "", error=self._load_error))
        else:
            yield from self._seat.answer(request, self._emit)

    def _tell_executor(self) -> None:
        if self._seat is not None and self._seat.executor != self._executor:
            self._executor = self._seat.executor
            self._emit(ExecutorChanged(self._executor))


def _describe(model: "Model", load_s: float) -> ModelInfo:
    return ModelInfo(
        name=model.name,
        architecture=model.architecture,
        path=model.path,
        device=model.device,
        executor=model.executor,
        chat_format=model.chat_format.source,
        context_length=model.context_length,
        memory_bytes=model.memory_bytes,
        load_s=load_s,
        tokenizer=model.tokenizer,
    )
