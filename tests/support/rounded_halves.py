"""Makes the reference round to float16 what products by matrices do: weights, and rows by a scale.

Routers are not multiplied so. See halve_rows.comp.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from llm.gpu.operations import ExpertMatMul, MatMul
from llm.gpu.reference import dense, executor, experts
from llm.gpu.reference.workspace import Workspace

GREATEST = 2.0**14  # what the largest value of a row is brought below
ROUTER = "ffn_gate_inp.weight"


def halved(x: np.ndarray) -> np.ndarray:
    """Rows of one product."""
    largest = np.abs(x).max(axis=1, keepdims=True)
    scale = 2.0 ** np.floor(np.log2(GREATEST / np.maximum(largest, 1e-30)))
    return np.asarray((x * scale).astype(np.float16).astype(np.float32) / scale, np.float32)


def round_to_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_halves(product: Callable[[Workspace, Any], None]) -> Callable[[Workspace, Any], None]:
        def multiply(run: Workspace, op: MatMul | ExpertMatMul) -> None:
            if op.weight.name.endswith(ROUTER):
                product(run, op)
                return
            count = run.rows(op.count) if isinstance(op, MatMul) else None
            x, weight = run.view(op.x, count), run.weights[op.weight.name]
            exact = x.copy()
            x[:] = halved(x.reshape(-1, op.weight.columns)).reshape(x.shape)
            run.weights[op.weight.name] = weight.astype(np.float16).astype(np.float32)
            product(run, op)
            run.weights[op.weight.name] = weight
            x[:] = exact

        return multiply

    monkeypatch.setitem(executor.RUN, MatMul, with_halves(dense.matmul))
    monkeypatch.setitem(executor.RUN, ExpertMatMul, with_halves(experts.expert_matmul))
