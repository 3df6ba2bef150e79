"""Rows that attend, and what they should get, in numpy and float64."""

from dataclasses import dataclass

import numpy as np

from llm.gpu.dispatch.launches_attend import LARGEST_LANES_HEAD
from llm.gpu.operations import PAGE_CELLS


@dataclass(frozen=True)
class Case:
    """Heads of `head_size`; rows at `positions`; `window` cells, or 0 for all.

    Rows are of one sequence, or each `of_its_own`.
    """

    heads: int
    kv_heads: int
    head_size: int
    window: int
    positions: tuple[int, ...]
    of_its_own: bool = False
    soft_cap: float = 0.0
    ahead: int = 0
    alibi: float = 0.0
    sinks: tuple[float, ...] = ()  # of each head

    @property
    def sequences(self) -> list[int]:
        rows = range(len(self.positions))
        return list(rows) if self.of_its_own else [0] * len(rows)

    @property
    def has_lanes(self) -> bool:
        is_plain = not (self.ahead or self.alibi or self.sinks)
        return is_plain and self.head_size <= LARGEST_LANES_HEAD

    @property
    def side_words(self) -> int:
        """Of the keys of a page."""
        return PAGE_CELLS * self.kv_heads * self.head_size // 2

    @property
    def queries(self) -> int:
        return len(self.positions) * self.heads // self.kv_heads


def expected_of(case: Case, q: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """y, and what y would be if all values were positive; (rows, heads, D)."""
    y = np.empty((2, *q.shape))
    for row, (position, sequence) in enumerate(zip(case.positions, case.sequences, strict=True)):
        keys, values = halves[sequence].astype(np.float64)
        first = max(0, position - case.window + 1) if case.window else 0
        # up to the last cell, which the last row has
        seen = slice(first, position + case.ahead + 1)
        for head in range(case.heads):
            kv_head = head // (case.heads // case.kv_heads)
            scores = keys[seen, kv_head] @ q[row, head].astype(np.float64)
            exponent = 2 * head + 2 if head < 4 else 2 * head - 7  # of up to 7 heads
            slope = 2.0 ** (-case.alibi * exponent / 8) if case.alibi else 0.0
            scores -= slope * np.abs(np.arange(len(keys))[seen] - position)
            if case.soft_cap:
                scores = case.soft_cap * np.tanh(scores / case.soft_cap)
            greatest = scores.max()
            shares = np.exp(scores - greatest)
            sink = np.exp(case.sinks[head] - greatest) if case.sinks else 0.0
            shares /= shares.sum() + sink
            y[0, row, head] = shares @ values[seen, kv_head]
            y[1, row, head] = shares @ np.abs(values[seen, kv_head])
    return y[0], y[1]
