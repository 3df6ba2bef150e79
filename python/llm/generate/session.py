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

from llm.errors import LLMError, RequestError, printable
from llm.generate.events import (
    CANCELLED,
    ERROR,
    GIVEN_UP,
    Ended,
    Event,
    ExecutorChanged,
    Loaded,
    LoadFailed,
    LoadProgressed,
    ModelInfo,
    StateLoaded,
    StateSaved,
)
from llm.generate.library import ModelLibrary
from llm.generate.request import (
    AnyRequest,
    EmbeddingRequest,
    LoadCache,
    LoadSpec,
    Request,
    SaveCache,
)
from llm.generate.xray import AttentionXray, LayersXray

if TYPE_CHECKING:
    from llm.generate.answer import Steps, Wanted
    from llm.generate.model import Model
    from llm.generate.seat import Seat

Job = LoadSpec | AnyRequest | SaveCache | LoadCache


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
        self.skipped = 0  # times that another was preferred, since its last step

    @property
    def has_work(self) -> bool:
        return self._steps is not None or bool(self._queue)

    @property
    def is_ready(self) -> bool:
        """Whether it can take a step."""
        return self.has_work and self.wanted is None

    @property
    def priority(self) -> int:
        """Of the request that runs, or comes next."""
        request = self._request
        return 0 if request is None else request.options.priority

    @property
    def frame_seconds(self) -> float:
        """Of the GPU's time that its request may take a frame; 0: without a limit."""
        request = self._request
        return 0.0 if request is None else request.options.frame_seconds

    @property
    def _request(self) -> Request | None:
        job = self._job or (self._queue[0] if self._queue else None)
        return job if isinstance(job, Request) else None

    @property
    def model(self) -> "Model | None":
        return self._seat.model if self._seat is not None else None

    def load(self, spec: LoadSpec) -> None:
        """Replaces the model. What was asked of the one before ends as cancelled."""
        self.unload()
        self._queue.append(spec)

    def answer(self, request: AnyRequest) -> None:
        self._queue.append(request)

    def store(self, job: SaveCache | LoadCache) -> None:
        """Begun at once where nothing else is to be done, before what is there can change."""
        is_idle = not self.has_work
        self._queue.append(job)
        if is_idle:
            self.step()

    def cancel(self, request_id: int) -> None:
        """Ends the request, waiting or running, as cancelled. Nothing when it is over already."""
        self._give_up(lambda job: isinstance(job, AnyRequest) and job.id == request_id)

    def forget(self) -> None:
        """Forgets what is in the KV, so that the next answer computes its whole prompt."""
        self._give_up(lambda job: isinstance(job, LoadCache))
        if self._seat is not None:
            self._seat.forget()

    def tell_attention(self, position: int, layer: int) -> None:
        """Of a token that is known: at once, whatever else is being done."""
        if self._seat is None:
            self._emit(AttentionXray(position, layer, error=self._load_error))
        else:
            self._emit(self._seat.attention(position, layer))

    def tell_layers(self) -> None:
        """At once, too; answers of all sessions wait meanwhile."""
        if self._seat is None:
            self._emit(LayersXray(0, error=self._load_error))
        else:
            self._emit(self._seat.layers())

    def unload(self) -> None:
        """Cancels everything and frees the model."""
        self._give_up(lambda _: True)
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

    def _give_up(self, is_meant: Callable[[Job], bool]) -> None:
        """Jobs that run or wait; each that the client was promised an end of ends."""
        if self._steps is not None and self._job is not None and is_meant(self._job):
            self._steps.close()
            self._job = self._steps = self.wanted = None
        for job in [job for job in self._queue if is_meant(job)]:
            self._queue.remove(job)
            if isinstance(job, AnyRequest):
                self._emit(Ended(job.id, CANCELLED, ""))
            elif not isinstance(job, LoadSpec):
                self._emit(_stored(job, GIVEN_UP))

    def _start(self, job: Job) -> "Steps":
        if isinstance(job, LoadSpec):
            return self._run_load(job)
        return self._run_request(job) if isinstance(job, AnyRequest) else self._run_stored(job)

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

    def _run_stored(self, job: SaveCache | LoadCache) -> "Steps":
        """Emits one event whatever happens, as an answer does."""
        error, details = GIVEN_UP, ""
        try:
            if self._seat is None:
                raise RequestError(self._load_error)
            if isinstance(job, SaveCache):
                yield from self._seat.save_cache(job)
            else:
                yield from self._seat.load_cache(job)
            error = ""
        except LLMError as problem:
            error = str(problem)
        except Exception as problem:
            error = printable(f"{type(problem).__name__}: {problem}")
            details = traceback.format_exc()
        finally:
            self._emit(_stored(job, error, details))

    def _tell_executor(self) -> None:
        if self.model is not None and self.model.executor != self._executor:
            self._executor = self.model.executor
            self._emit(ExecutorChanged(self._executor))


def _stored(job: SaveCache | LoadCache, error: str, details: str = "") -> Event:
    kind = StateSaved if isinstance(job, SaveCache) else StateLoaded
    return kind(error, details)


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
