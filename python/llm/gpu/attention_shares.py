"""How much each cell counts in an attention: the softmax that `Attend` defines.

Letters: T rows, H query heads, D head size, n cells that some of the rows see.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from llm.gpu.operations import Attend
from llm.gpu.program import Floats, Ids
from llm.gpu.reference.dense import soft_capped


@dataclass(frozen=True, slots=True)
class SeenCells:
    """Of rows of one sequence."""

    positions: Ids  # (T,)
    cells: Ids  # (n,)
    hidden: NDArray[np.bool_]  # (T, n), those that a row does not see

    @classmethod
    def of(cls, op: Attend, positions: Ids) -> "SeenCells":
        first = max(0, int(positions.min()) - op.window + 1) if op.window else 0
        cells = np.arange(first, int(positions.max()) + 1)
        hidden = cells[None, :] > positions[:, None] + op.ahead
        if op.window:
            hidden |= cells[None, :] <= positions[:, None] - op.window
        return cls(positions, cells, hidden)


def heads_of(op: Attend, kv_head: int) -> slice:
    """The query heads that read a key/value head."""
    group = op.heads // op.kv_heads
    return slice(kv_head * group, (kv_head + 1) * group)


def head_shares(
    op: Attend, kv_head: int, q: Floats, k: Floats, seen: SeenCells, sinks: Floats | None
) -> tuple[Floats, Floats]:
    """Of the heads (T, H, D) that read keys (n, D): (T, group, n), and what to divide them by,
    (T, group, 1)."""
    heads = heads_of(op, kv_head)
    shares = q[:, heads] @ k.T  # (T, group, n)
    if op.alibi:
        slopes = np.asarray(op.slopes[heads], np.float32)  # (group,)
        distances = np.abs(seen.cells - seen.positions[:, None])  # (T, n)
        shares -= slopes[:, None] * distances[:, None]
    if op.soft_cap:
        shares = soft_capped(shares, op.soft_cap)
    shares[np.broadcast_to(seen.hidden[:, None, :], shares.shape)] = -np.inf
    greatest = shares.max(axis=2, keepdims=True)  # (T, group, 1)
    shares -= greatest
    np.exp(shares, out=shares)
    total = shares.sum(axis=2, keepdims=True)
    if sinks is not None:
        total += np.exp(sinks[heads, None] - greatest)
    return shares, total


def attention_of(
    op: Attend, q: Floats, keys: NDArray[np.float16], position: int, sinks: Floats | None
) -> Floats:
    """What each head of a row at `position`, (H*D,), has of the cells up to there: (H, cells).

    `keys` (cells, G*D) are all of them. A head's shares add up to 1, or to less where it has a
    sink, which takes the rest.
    """
    seen = SeenCells.of(op, np.array([position]))
    size = op.q.width // op.heads
    found = np.zeros((op.heads, position + 1), np.float32)
    for kv_head in range(op.kv_heads):
        columns = slice(kv_head * size, (kv_head + 1) * size)
        k = keys[seen.cells, columns].astype(np.float32)  # (n, D)
        shares, total = head_shares(op, kv_head, q.reshape(1, op.heads, size), k, seen, sinks)
        found[heads_of(op, kv_head), seen.cells] = (shares / total)[0]
    return found
