"""Loads a model for a command that uses it directly, on the thread that it runs on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llm.generate.model import Model, load_model
from llm.gpu.device.release import release_device
from llm.gpu.program import ROWS_APART

SUBMIT_SECONDS = 0.1  # no frame waits for a command


@contextmanager
def loaded(
    path: str,
    executor: str,
    *,
    quantize: str | None = None,
    context_length: int = 1024,
    max_outputs: int = ROWS_APART,
    chunk_rows: int | None = None,
    on_progress: Callable[[float], object] = lambda fraction: None,
) -> Iterator[Model]:
    """A loaded model, closed at the end together with the GPU device. Raises LLMError.

    `on_progress` gets the fraction done, again and again.
    """
    steps = load_model(
        path,
        executor=executor,
        context_length=context_length,
        max_outputs=max_outputs,
        chunk_rows=chunk_rows,
        is_patient=True,
        quantize=quantize or "",
    )
    model: Model | None = None
    try:
        while model is None:
            try:
                on_progress(next(steps))
            except StopIteration as finished:
                model = finished.value
        model.submit_seconds = SUBMIT_SECONDS
        yield model
    finally:
        if model is not None:
            model.close()
        release_device()
