"""The one worker of this process, started when a node first needs it."""

from collections.abc import Generator
from typing import TYPE_CHECKING

import godot
from llm.generate.request import ECHO, LoadSpec
from llm.generate.worker import Worker
from llm.gpu.device.release import release_device
from llm.nodes.model_places import locate

if TYPE_CHECKING:
    from llm.generate.model import Model

_worker: Worker | None = None


def spec_of(model_path: str, executor: str, context_length: int, quantize: str) -> LoadSpec:
    """What a node's properties name: a file as the operating system knows it, or the echo.

    Raises RequestError where the path is empty.
    """
    if model_path and not model_path.startswith(ECHO):
        model_path = locate(model_path)
    return LoadSpec(model_path, executor, context_length, quantize)


def shared_worker() -> Worker:
    """Main thread only. The engine's shutdown stops it and waits until everything is freed."""
    global _worker
    if _worker is None:
        _worker = Worker(_load_model, release_device)
        godot.on_shutdown(_worker.stop)
    return _worker


def stop_unused_worker() -> None:
    """Main thread only. Waits for its end; who needs a worker afterwards starts another."""
    global _worker
    if _worker is not None and not _worker.is_used:
        _worker.stop()
        _worker = None


def _load_model(
    path: str, *, executor: str, context_length: int, quantize: str
) -> "Generator[float, None, Model]":
    # Called on the worker, so that importing numpy and the rest holds up no frame.
    if path.startswith(ECHO):
        from llm.generate.echo import load_echo

        return load_echo(path, executor=executor, context_length=context_length, quantize=quantize)
    from llm.generate.model import load_model

    return load_model(path, executor=executor, context_length=context_length, quantize=quantize)
