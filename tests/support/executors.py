"""A tiny model on the GPU executors, whatever device this is."""

from pathlib import Path

import pytest
from support.loading import finish

from llm.generate.model import Model, load_model
from llm.gpu.device.rendering_device import open_device
from llm.gpu.dispatch.executor import DispatchExecutor
from llm.gpu.fused import executor as fused
from llm.gpu.fused import persistent

CONTEXT = 96
ROWS = 64  # of a run, and of logits


def load(path: Path, executor: str, rows: int = ROWS) -> Model:
    return finish(
        load_model(
            str(path),
            executor=executor,
            context_length=CONTEXT,
            max_outputs=ROWS,
            chunk_rows=rows,
        )
    )


def load_dispatch(path: Path, *, is_cpu: bool) -> Model:
    """With the kernels for software drivers or with those for GPUs.

    A GPU would run single tokens as fused steps, which test_fused.py tests.
    """
    device = open_device()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "is_cpu", is_cpu)
        patch.setattr(fused, "FusedExecutor", DispatchExecutor)
        model = load(path, "dispatch")
    assert model.executor == "dispatch"
    return model


def load_persistent(path: Path) -> Model:
    """On a software driver by one group, which is all that it promises to run at a time."""
    device = open_device()
    assert device is not None
    with pytest.MonkeyPatch.context() as patch:
        if device.is_cpu:
            patch.setattr(persistent, "resident_groups", lambda _meet: 1)
        model = load(path, "persistent")
    assert model.executor == "persistent"
    return model
