"""What operations on heads do: the formulas stand in llm/gpu/operations/attention.py."""

from collections.abc import Callable
from typing import Any

import numpy as np

from llm.gpu.attention_shares import SeenCells, head_shares, heads_of
from llm.gpu.operations import Attend, CacheStore, Operation, Pairing, Rotate
from llm.gpu.reference.dense import normalized
from llm.gpu.reference.workspace import Workspace


def rotate(run: Workspace, op: Rotate) -> None:
    x = run.view(op.x)
    heads = x.reshape(len(x), op.heads, -1)  # (T, heads, D)
    if op.norm is not None:
        heads = normalized(heads, op.eps) * run.weights[op.norm.name][0]
    turns = run.weights[op.table.name].astype(np.float64).sum(axis=1)  # (pairs,)
    angle = 2.0 * np.pi * ((np.asarray(run.batch.positions)[:, None] * turns) % 1.0)
    cosine = (op.magnitude * np.cos(angle)).astype(np.float32)[:, None, :]  # (T, 1, pairs)
    sine = (op.magnitude * np.sin(angle)).astype(np.float32)[:, None, :]  # (T, 1, pairs)
    if op.pairing is Pairing.ADJACENT:
        firsts, seconds = slice(0, op.turned, 2), slice(1, op.turned, 2)
    else:
        firsts, seconds = slice(op.turned // 2), slice(op.turned // 2, op.turned)
    first, second = heads[:, :, firsts], heads[:, :, seconds]  # (T, heads, pairs) each
    rotated = heads.copy()  # (T, heads, D)
    rotated[:, :, firsts] = first * cosine - second * sine
    rotated[:, :, seconds] = first * sine + second * cosine
    rotated *= np.float32(op.scale)
    if op.temperature is not None:
        times = np.asarray(run.batch.positions) // op.temperature.length  # (T,)
        factors = 1.0 + op.temperature.rate * np.log1p(times)
        rotated *= factors.astype(np.float32)[:, None, None]
    x[:] = rotated.reshape(x.shape)


def cache_store(run: Workspace, op: CacheStore) -> None:
    keys, values = run.slab(op.cache)
    for sequence, rows in run.rows_by_sequence():
        pages, cells = run.places(sequence, np.asarray(run.batch.positions)[rows])
        keys[pages, cells] = run.view(op.k)[rows]
        values[pages, cells] = run.view(op.v)[rows]


def attend(run: Workspace, op: Attend) -> None:
    for sequence, rows in run.rows_by_sequence():
        _attend_rows(run, op, sequence, rows)


def _attend_rows(run: Workspace, op: Attend, sequence: int, rows: list[int]) -> None:
    """Rows of one sequence."""
    keys, values = run.slab(op.cache)
    seen = SeenCells.of(op, np.asarray(run.batch.positions)[rows])
    places = run.places(sequence, seen.cells)
    sinks = None if op.sinks is None else run.weights[op.sinks.name][0]  # (H,)
    size = op.q.width // op.heads
    q = run.view(op.q)[rows].reshape(len(rows), op.heads, size)  # (T, H, D)
    y = np.empty_like(q)  # (T, H, D)
    for kv_head in range(op.kv_heads):
        columns = slice(kv_head * size, (kv_head + 1) * size)
        heads = heads_of(op, kv_head)
        k = keys[(*places, columns)].astype(np.float32)  # (cells, D)
        v = values[(*places, columns)].astype(np.float32)  # (cells, D)
        shares, total = head_shares(op, kv_head, q, k, seen, sinks)
        y[:, heads] = (shares @ v) / total
    run.view(op.y)[rows] = y.reshape(len(rows), -1)


ATTENTION: dict[type[Operation], Callable[[Workspace, Any], None]] = {
    Rotate: rotate,
    CacheStore: cache_store,
    Attend: attend,
}
