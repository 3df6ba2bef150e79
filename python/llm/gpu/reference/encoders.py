"""What the operations of encoders do: the formulas stand in llm/gpu/operations/encoders.py."""

from collections.abc import Callable
from typing import Any

import numpy as np

from llm.gpu.operations import AddPositions, Operation
from llm.gpu.reference.workspace import Workspace


def add_positions(run: Workspace, op: AddPositions) -> None:
    x = run.view(op.x)  # (T, C)
    x += run.weights[op.weight.name][np.asarray(run.batch.positions)]


ENCODERS: dict[type[Operation], Callable[[Workspace, Any], None]] = {
    AddPositions: add_positions,
}
