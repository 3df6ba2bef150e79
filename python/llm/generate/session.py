"""One client on the worker thread: its seat at a model, and its queue of jobs.

Everything here runs on the worker thread. Jobs run one after another; a step of the current one is
the unit in which sessions take turns. An answer that wants tokens waits for them, as the worker
makes those of several answers together.
"""

import time
import traceback
from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

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
from llm.generate.library import ModelLibrary
from llm.generate.request import AnyRequest, EmbeddingRequest, LoadSpec

if TYPE_CHECKING:
    from llm.generate.answer import Steps, Wanted
    from llm.generate.model import Model
    from llm.generate.seat import Seat

Job = LoadSpec | AnyRequest


class Session:
    def __init__(self, library: ModelLibrary, emit: Callable[[Event], None]) -> None:
        self._library = library
        self._emit = emit
        self._seat: Seat | None = None
        self._executor = ""  # that the client knows of
        self._load_error = "no model was loaded"
        self._queue: deque[Job] = deque()
        self._job: Job | None = None  # the one that `_steps` belongs to
        self._steps: Steps | None = None
        self.wanted: Wanted | None = None  # tokens, without which it takes no step

    @property
    def has_work(self) -> bool:
        return self._steps is not None or bool(self._queue)

    @property
    def is_ready(self) -> bool:
        """Whether it can take a step."""
        return self.has_work and self.wanted is None

    @property
    def model(self) -> "Model | None":
        return self._seat.model if self._seat is not None else None

    def load(self, spec: LoadSpec) -> None:
        """Replaces the model. What was asked of the one before ends as cancelled."""
        self.unload()
        self._queue.append(spec)

    def answer(self, request: AnyRequest) -> None:
        self._queue.append(request)

    def cancel(self, request_id: int) -> None:
        """Ends the request, waiting or running, as cancelled. Nothing when it is over already."""
        if isinstance(self._job, AnyRequest) and self._job.id == request_id:
            self._stop_job()
            return
        for job in list(self._queue):
            if isinstance(job, AnyRequest) and job.id == request_id:
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
            if isinstance(job, AnyRequest):
                self._emit(Ended(job.id, CANCELLED, ""))
        if self._seat is not None:
            seat, self._seat = self._seat, None
            seat.close()
            self._library.give_back(seat.model)

    def step(self) -> None:
        """One piece of loading, one chunk of a prompt or one token."""
        if self._steps is None:
            self._job = self._queue.popleft()
            self._steps = self._start(self._job)
        steps = self._steps
        self._advance(lambda: next(steps))

    def give(self, found: list[int] | Exception) -> None:
        """The tokens that it wanted, or why there are none."""
        steps = self._steps
        assert steps is not None
        if isinstance(found, Exception):
            self._advance(lambda: steps.throw(found))
        else:
            self._advance(lambda: steps.send(found))

    def _advance(self, step: "Callable[[], Wanted | None]") -> None:
        self.wanted = None
        try:
            self.wanted = step()
        except StopIteration:
            self._job = self._steps = None
        self._tell_executor()

    def _stop_job(self) -> None:
        if self._steps is not None:
            self._steps.close()
        self._job = self._steps = self.wanted = None

    def _start(self, job: Job) -> "Steps":
        return self._run_load(job) if isinstance(job, LoadSpec) else self._run_request(job)

    def _run_load(self, spec: LoadSpec) -> "Steps":
        started = time.perf_counter()
        try:
            # numpy and the rest are imported here, by the first load, and not at engine start.
            from llm.generate.seat import Seat

            model = yield from self._report_progress(self._library.borrow(spec))
            try:
                self._seat = Seat(model, spec.context_length)
            except BaseException:
                self._library.give_back(model)
                raise
        except LLMError as problem:
            self._fail_load(str(problem))
        except Exception as problem:
            error = printable(f"{type(problem).__name__}: {problem}")
            self._fail_load(error, traceback.format_exc())
        else:
            self._executor = model.executor
            self._emit(Loaded(_describe(self._seat, time.perf_counter() - started)))

    def _report_progress(
        self, loading: "Generator[float, None, Model]"
    ) -> "Generator[None, list[int], Model]":
        reported = -1.0
        try:
            while True:
                fraction = next(loading)
                if fraction - reported >= 0.01 or (fraction == 1.0 > reported):
                    reported = fraction
                    self._emit(LoadProgressed(fraction))
                yield None
        except StopIteration as finished:
            model: Model = finished.value
            return model
        finally:
            loading.close()

    def _fail_load(self, error: str, details: str = "") -> None:
        self._load_error = error
        self._emit(LoadFailed(error, details))

    def _run_request(self, request: AnyRequest) -> "Steps":
        if self._seat is None:
            self._emit(Ended(request.id, ERROR, "", error=self._load_error))
        elif isinstance(request, EmbeddingRequest):
            yield from self._seat.embed(request, self._emit)
        else:
            yield from self._seat.answer(request, self._emit)

    def _tell_executor(self) -> None:
        if self.model is not None and self.model.executor != self._executor:
            self._executor = self.model.executor
            self._emit(ExecutorChanged(self._executor))


def _describe(seat: "Seat", load_s: float) -> ModelInfo:
    model = seat.model
    return ModelInfo(
        name=model.name,
        architecture=model.architecture,
        path=model.path,
        device=model.device,
        executor=model.executor,
        chat_format=model.chat_format.source,
        context_length=seat.context_length,
        memory_bytes=model.memory_bytes,
        load_s=load_s,
        tokenizer=model.tokenizer,
    )
