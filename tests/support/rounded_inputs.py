"""Makes the reference round the inputs of products as the steps kernel does: step_input.glslh.

Then both agree to float32 again, and what differs is a mistake and no rounding.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from llm.gpu.operations import ExpertMatMul, MatMul
from llm.gpu.reference import dense, executor, experts
from llm.gpu.reference.workspace import Workspace

BLOCK = 32  # values with one scale
LARGEST = np.float32(127 * 256 + 127)

Floats = NDArray[np.float32]


def rounded(x: Floats) -> Floats:
    """Rows (rows, K) as 16-bit integers, times the scale of their block."""
    blocks = x.reshape(-1, BLOCK)
    greatest = np.abs(blocks).max(axis=1, keepdims=True)
    inverse = np.divide(LARGEST, greatest, out=np.zeros_like(greatest), where=greatest > 1e-30)
    return (np.rint(blocks * inverse) * (greatest / LARGEST)).astype(np.float32).reshape(x.shape)


def round_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """In runs of one token with logits, which are those that executors run as steps."""

    def with_rounded(product: Callable[[Workspace, Any], None]) -> Callable[[Workspace, Any], None]:
        def multiply(run: Workspace, op: MatMul | ExpertMatMul) -> None:
            if not len(run.batch.tokens) == len(run.batch.outputs) == 1:
                product(run, op)
                return
            x = run.view(op.x, 1)
            exact = x.copy()
            x[:] = rounded(x)
            product(run, op)
            x[:] = exact

        return multiply

    monkeypatch.setitem(executor.RUN, MatMul, with_rounded(dense.matmul))
    monkeypatch.setitem(executor.RUN, ExpertMatMul, with_rounded(experts.expert_matmul))
