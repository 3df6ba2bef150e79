"""What operations on streams do: the formulas stand in llm/gpu/operations/streams.py."""

from collections.abc import Callable
from typing import Any

import numpy as np

from llm.gpu.operations import Combine, MixStreams, Operation, Rescale, Sparsify
from llm.gpu.program import Floats
from llm.gpu.reference.workspace import Workspace


def combine(run: Workspace, op: Combine) -> None:
    rows = run.rows(op.count)
    found = run.view(op.x, rows)
    if op.other is not None:
        found = found + np.float32(op.factor) * run.view(op.other, rows)
    if op.weight is not None:
        found = found * run.weights[op.weight.name][0]
    run.view(op.y, rows)[:] = np.float32(op.scale) * found


def rescale(run: Workspace, op: Rescale) -> None:
    x = run.view(op.x)
    run.view(op.y)[:] = x * (_length(run.view(op.like)) / _length(x))


def mix_streams(run: Workspace, op: MixStreams) -> None:
    weight = run.weights[op.weight.name]  # (S*J, S)
    amounts = np.tanh(run.view(op.router)) @ weight.T + np.float32(op.bias)  # (T, S*J)
    amounts = amounts.reshape(-1, op.streams, op.mixed)  # (T, S, J)
    x = run.view(op.x)
    z = run.view(op.z).reshape(len(x), op.mixed, -1)  # (T, J, C)
    run.view(op.y)[:] = x + (amounts @ z).reshape(x.shape)


def sparsify(run: Workspace, op: Sparsify) -> None:
    x = run.view(op.x)
    mean = x.mean(axis=1, keepdims=True, dtype=np.float32)  # (T, 1)
    deviation = x.std(axis=1, keepdims=True, ddof=1, dtype=np.float32)  # (T, 1)
    x[:] = np.maximum(x - (mean + np.float32(op.factor) * deviation), np.float32(0.0))


def _length(x: Floats) -> Floats:
    return np.asarray(np.sqrt(np.square(x).sum(axis=1, keepdims=True, dtype=np.float32)))


STREAMS: dict[type[Operation], Callable[[Workspace, Any], None]] = {
    Combine: combine,
    Rescale: rescale,
    MixStreams: mix_streams,
    Sparsify: sparsify,
}
