"""What operations on rows of activations do: the formulas stand in llm/gpu/operations/dense.py."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from llm.gpu.operations import (
    Activation,
    Count,
    Embed,
    GatedUnit,
    MatMul,
    Operation,
    RMSNorm,
    SelectRows,
    SoftCap,
)
from llm.gpu.program import Floats
from llm.gpu.reference.workspace import Workspace

GELU_SCALE = math.sqrt(2.0 / math.pi)
GELU_CUBIC = 0.044715


def embed(run: Workspace, op: Embed) -> None:
    name, tokens = op.weight.name, run.batch.tokens
    table = run.tables.get(name)
    rows = run.weights[name][np.asarray(tokens)] if table is None else table.rows(tokens)
    run.view(op.y)[:] = rows * np.float32(op.scale)


def rms_norm(run: Workspace, op: RMSNorm) -> None:
    rows = run.rows(op.count)
    x = run.view(op.x, rows)
    normed = normalized(x.reshape(rows, op.parts, -1), op.eps)  # (rows, parts, C / parts)
    if op.weight is not None:
        normed = normed * run.weights[op.weight.name][0]
    normed = normed.reshape(x.shape)
    if op.residual is not None:
        normed = normed + run.view(op.residual, rows)
    run.view(op.y, rows)[:] = normed * np.float32(op.scale)


def matmul(run: Workspace, op: MatMul) -> None:
    rows = run.rows(op.count)
    weight = run.weights[op.weight.name]  # (M, K)
    if op.residual is None:
        np.matmul(run.view(op.x, rows), weight.T, out=run.view(op.y, rows))
    else:
        product = run.view(op.x, rows) @ weight.T  # (rows, M)
        np.add(run.view(op.residual, rows), product, out=run.view(op.y, rows))


def gated_unit(run: Workspace, op: GatedUnit) -> None:
    run.view(op.y)[:] = activated(run.view(op.gate), op.activation) * run.view(op.up)


def activated(gate: Floats, activation: Activation) -> Floats:
    if activation is Activation.SILU:
        return np.asarray(gate / (1.0 + np.exp(-gate)), np.float32)
    inner = GELU_SCALE * (gate + GELU_CUBIC * (gate * gate * gate))  # ** is 20 times slower
    return np.asarray(0.5 * gate * (1.0 + np.tanh(inner)), np.float32)


def soft_cap(run: Workspace, op: SoftCap) -> None:
    x = run.view(op.x, run.rows(Count.OUTPUTS))
    cap = np.float32(op.cap)
    x[:] = np.where(np.isfinite(x), cap * np.tanh(x / cap), x)  # the others are looked for


def select_rows(run: Workspace, op: SelectRows) -> None:
    outputs = np.asarray(run.batch.outputs, np.int64)
    run.view(op.y, len(outputs))[:] = run.view(op.x)[outputs]


def normalized(x: Floats, eps: float) -> Floats:
    """Each row over the root of its mean square."""
    mean_square = np.mean(np.square(x), axis=-1, keepdims=True, dtype=np.float32)
    return np.asarray(x / np.sqrt(mean_square + np.float32(eps)), np.float32)


DENSE: dict[type[Operation], Callable[[Workspace, Any], None]] = {
    Embed: embed,
    RMSNorm: rms_norm,
    MatMul: matmul,
    GatedUnit: gated_unit,
    SelectRows: select_rows,
    SoftCap: soft_cap,
}
