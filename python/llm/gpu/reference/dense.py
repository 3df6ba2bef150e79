"""What operations on rows of activations do: the formulas stand in llm/gpu/operations/dense.py."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from llm.gpu.operations import (
    Activate,
    Activation,
    AddBias,
    Count,
    Embed,
    GatedUnit,
    LayerNorm,
    MatMul,
    Operation,
    RMSNorm,
    ScaleLogits,
    SelectRows,
)
from llm.gpu.program import Floats
from llm.gpu.reference.workspace import Workspace

GELU_SCALE = math.sqrt(2.0 / math.pi)
GELU_CUBIC = 0.044715
CLAMP = 7.0
CLAMPED_SLOPE = 1.702


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


def layer_norm(run: Workspace, op: LayerNorm) -> None:
    x = run.view(op.x, run.rows(op.count))
    centred = x - np.mean(x, axis=-1, keepdims=True, dtype=np.float32)
    normed = normalized(centred, op.eps) * run.weights[op.weight.name][0]
    if op.bias is not None:
        normed += run.weights[op.bias.name][0]
    run.view(op.y, run.rows(op.count))[:] = normed


def matmul(run: Workspace, op: MatMul) -> None:
    rows = run.rows(op.count)
    weight = run.weights[op.weight.name]  # (M, K)
    if op.residual is None:
        np.matmul(run.view(op.x, rows), weight.T, out=run.view(op.y, rows))
    else:
        product = run.view(op.x, rows) @ weight.T  # (rows, M)
        np.add(run.view(op.residual, rows), product, out=run.view(op.y, rows))


def add_bias(run: Workspace, op: AddBias) -> None:
    x = run.view(op.x, run.rows(op.count))
    x += run.weights[op.weight.name][0]


def scale_logits(run: Workspace, op: ScaleLogits) -> None:
    x = run.view(op.x, run.rows(Count.OUTPUTS))
    x *= np.float32(op.scale)
    if op.soft_cap:
        x[:] = np.where(np.isinf(x), x, soft_capped(x, op.soft_cap))


def soft_capped(x: Floats, cap: float) -> Floats:
    """Close to x near 0, never beyond the cap."""
    return np.asarray(np.float32(cap) * np.tanh(x / np.float32(cap)), np.float32)


def gated_unit(run: Workspace, op: GatedUnit) -> None:
    up = run.view(op.up)
    if op.activation is Activation.CLAMPED:
        up = np.clip(up, -CLAMP, CLAMP) + 1.0
    run.view(op.y)[:] = activated(run.view(op.gate), op.activation) * up


def activate(run: Workspace, op: Activate) -> None:
    x = run.view(op.x)
    x[:] = activated(x, op.activation)


def activated(gate: Floats, activation: Activation) -> Floats:
    if activation is Activation.SILU:
        return np.asarray(gate / (1.0 + np.exp(-gate)), np.float32)
    if activation is Activation.SIGMOID:
        return np.asarray(1.0 / (1.0 + np.exp(-gate)), np.float32)
    if activation is Activation.CLAMPED:
        gate = np.minimum(gate, CLAMP)
        return np.asarray(gate / (1.0 + np.exp(-CLAMPED_SLOPE * gate)), np.float32)
    inner = GELU_SCALE * (gate + GELU_CUBIC * (gate * gate * gate))  # ** is 20 times slower
    return np.asarray(0.5 * gate * (1.0 + np.tanh(inner)), np.float32)


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
    LayerNorm: layer_norm,
    MatMul: matmul,
    AddBias: add_bias,
    GatedUnit: gated_unit,
    Activate: activate,
    SelectRows: select_rows,
    ScaleLogits: scale_logits,
}
