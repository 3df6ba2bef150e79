"""Makes the reference round the inputs of products as the steps kernel does: step_input.glslh.

Then both agree to float32 again, and what differs is a mistake and no rounding.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from llm.gpu import reference
from llm.gpu.operations import MatMul
from llm.gpu.reference import ReferenceExecutor

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
    multiply = ReferenceExecutor._matmul

    def matmul(executor: Any, op: MatMul) -> None:
        if not len(executor._batch.tokens) == len(executor._batch.outputs) == 1:
            multiply(executor, op)
            return
        x = executor._view(op.x, 1)
        exact = x.copy()
        x[:] = rounded(x)
        multiply(executor, op)
        x[:] = exact

    monkeypatch.setitem(reference._RUN, MatMul, matmul)
