"""What operations on recurrent state do: the formulas stand in llm/gpu/operations/recurrent.py."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from llm.gpu.operations import (
    Activation,
    Convolve,
    DeltaRule,
    GatedNorm,
    HeadMapping,
    L2Norm,
    Operation,
    SliceHeads,
)
from llm.gpu.program import Floats
from llm.gpu.reference.dense import activated, normalized
from llm.gpu.reference.workspace import Workspace


def convolve(run: Workspace, op: Convolve) -> None:
    weight = run.weights[op.weight.name]  # (C, K)
    channels, taps = weight.shape
    x = run.view(op.x)
    u = x[:, :channels] * x[:, 2 * channels :] if op.is_gated else x  # (T, C)
    found = np.empty_like(run.view(op.y))  # (T, C)
    for sequence, rows in run.rows_by_sequence():
        state = run.state(sequence, op.state, rows[0]).reshape(taps - 1, channels)
        joined = np.concatenate((state, u[rows]))  # (K - 1 + rows, C)
        found[rows] = sum(joined[tap : tap + len(rows)] * weight[:, tap] for tap in range(taps))
        state[:] = joined[len(rows) :]
    after = x[:, channels : 2 * channels]
    run.view(op.y)[:] = after * found if op.is_gated else activated(found, Activation.SILU)


def delta_rule(run: Workspace, op: DeltaRule) -> None:
    size, heads, key_heads = op.head_size, op.heads, op.key_heads
    qkv = run.view(op.qkv)
    rows_of_all = len(qkv)
    queries, keys, values = np.split(qkv, [key_heads * size, 2 * key_heads * size], axis=1)
    key_head = np.arange(heads)  # of each value head
    if op.mapping is HeadMapping.TILED:
        key_head %= key_heads
    else:
        key_head //= heads // key_heads
    q = queries.reshape(rows_of_all, key_heads, size)[:, key_head]  # (T, H, D)
    k = keys.reshape(rows_of_all, key_heads, size)[:, key_head]  # (T, H, D)
    v = values.reshape(rows_of_all, heads, size)  # (T, H, D)
    beta = activated(run.view(op.beta), Activation.SIGMOID)  # (T, H)
    steps = np.logaddexp(np.float32(0.0), run.view(op.alpha) + run.weights[op.bias.name][0])
    decay = np.exp(run.weights[op.decay.name][0] * steps)  # (T, H)
    y = run.view(op.y).reshape(rows_of_all, heads, size)  # (T, H, D)
    for sequence, rows in run.rows_by_sequence():
        state = run.state(sequence, op.state, rows[0]).reshape(heads, size, size)
        for row in rows:
            state *= decay[row, :, None, None]
            change = beta[row, :, None] * (v[row] - _read(state, k[row]))  # (H, D)
            state += k[row, :, :, None] * change[:, None, :]
            y[row] = _read(state, q[row]) / np.float32(math.sqrt(size))


def _read(state: Floats, key: Floats) -> Floats:
    """What the states of all heads (H, D, D) hold at these keys (H, D)."""
    found: Floats = np.matmul(key[:, None, :], state)[:, 0]
    return found


def l2_norm(run: Workspace, op: L2Norm) -> None:
    x = run.view(op.x)[:, : op.heads * op.head_size]
    heads = x.reshape(len(x), op.heads, op.head_size)  # (T, heads, D)
    length = np.sqrt(np.sum(np.square(heads), axis=2, keepdims=True, dtype=np.float32))
    x[:] = (heads / np.maximum(length, np.float32(op.eps))).reshape(x.shape)


def gated_norm(run: Workspace, op: GatedNorm) -> None:
    x = run.view(op.x)
    heads = x.reshape(len(x), op.heads, -1)  # (T, heads, D)
    normed = normalized(heads, op.eps) * run.weights[op.weight.name][0]
    run.view(op.y)[:] = normed.reshape(x.shape) * activated(run.view(op.gate), Activation.SILU)


def slice_heads(run: Workspace, op: SliceHeads) -> None:
    x, y = run.view(op.x), run.view(op.y)
    size = op.y.width // op.heads
    heads = x.reshape(len(x), op.heads, -1)  # (T, heads, S)
    y[:] = heads[:, :, op.first : op.first + size].reshape(y.shape)


RECURRENT: dict[type[Operation], Callable[[Workspace, Any], None]] = {
    Convolve: convolve,
    DeltaRule: delta_rule,
    L2Norm: l2_norm,
    GatedNorm: gated_norm,
    SliceHeads: slice_heads,
}
