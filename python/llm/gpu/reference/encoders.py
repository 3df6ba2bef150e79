"""What the operations of encoders do: the formulas stand in llm/gpu/operations/encoders.py."""

from collections.abc import Callable
from typing import Any

import numpy as np

from llm.gpu.operations import Activate, AddPositions, LayerNorm, Operation
from llm.gpu.reference.dense import activated
from llm.gpu.reference.workspace import Workspace


def layer_norm(run: Workspace, op: LayerNorm) -> None:
    x = run.view(op.x)  # (T, C)
    apart = x - x.mean(axis=1, keepdims=True, dtype=np.float32)  # (T, C)
    variance = np.mean(np.square(apart), axis=1, keepdims=True, dtype=np.float32)
    scale = run.weights[op.weight.name][0] / np.sqrt(variance + np.float32(op.eps))
    run.view(op.y)[:] = apart * scale


def add_positions(run: Workspace, op: AddPositions) -> None:
    x = run.view(op.x)  # (T, C)
    x += run.weights[op.weight.name][np.asarray(run.batch.positions)]


def activate(run: Workspace, op: Activate) -> None:
    x = run.view(op.x)
    x[:] = activated(x, op.activation)


ENCODERS: dict[type[Operation], Callable[[Workspace, Any], None]] = {
    LayerNorm: layer_norm,
    AddPositions: add_positions,
    Activate: activate,
}
