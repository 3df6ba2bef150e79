"""Finds the largest of the logits that a run left, and draws tokens from them, on the device."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llm.gpu import state
from llm.gpu.adjustments import Adjustments
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.dispatch.adjusting import WORD, LogitAdjuster
from llm.gpu.dispatch.dispatches import Dispatch, Scratch
from llm.gpu.dispatch.lowering import lower_draw, lower_picks
from llm.gpu.dispatch.picks import picks_of
from llm.gpu.operations import Tensor
from llm.gpu.program import Candidates, not_finite
from llm.gpu.sampler import Draw

Words = NDArray[np.uint32]
# (key, what makes the dispatches) -> a table that is made once
Table = Callable[[tuple[str, int, int], Callable[[], Iterable[Dispatch]]], Any]


@dataclass(frozen=True, slots=True)
class TokenSearch:
    device: RenderingDevice
    state: Any
    scratch: Scratch
    adjuster: LogitAdjuster
    table: Table

    def best(
        self, logits: Tensor, k: int, adjustments: Sequence[Adjustments | None]
    ) -> list[Candidates]:
        """The k largest of each row; k from 1 to MAX_PICKS, ALL_PICKS in all. NumericError."""
        self._search(logits, k, adjustments)
        words = self.read_state()
        return [picks_of(words, k, row * k) for row in range(logits.rows)]

    def draw(self, logits: Tensor, draws: Sequence[Draw]) -> Words:
        """The state's words up to what was drawn: a token for each row, or NONE."""
        self.put_draws(draws)
        k = most_candidates(draws)
        self._search(logits, k, [draw.adjustments for draw in draws])
        key = (f"draw for {logits.rows} rows", 0, k)
        self.device.play(self.table(key, lambda: [lower_draw(logits.rows, k)]))
        return self.read_drawn()

    def read_drawn(self, runs: int = 1) -> Words:
        """The state's words up to what was drawn in so many runs."""
        return self.read_state(state.DRAWN + runs * state.MAX_DRAW_ROWS)

    def put_draws(self, draws: Sequence[Draw]) -> None:
        data = self.device.staging(len(draws) * state.MAX_DRAW_WORDS * WORD)
        words = np.frombuffer(data.view(), np.uint32).reshape(-1, state.MAX_DRAW_WORDS)
        for row, draw in enumerate(draws):
            words[row, :7] = draw.words()
        self.device.write(self.state, state.DRAWS * WORD, data, words.nbytes)

    def read_state(self, count: int = state.STATE_WORDS) -> Words:
        return np.frombuffer(self.device.read(self.state, 0, count * WORD), np.uint32)

    def _search(self, logits: Tensor, k: int, adjustments: Sequence[Adjustments | None]) -> None:
        self.adjuster.adjust(logits, adjustments)
        key = (f"picks of {logits.rows} rows", logits.offset, k)
        self.device.play(self.table(key, lambda: lower_picks(logits, k, self.scratch)))


def most_candidates(draws: Sequence[Draw]) -> int:
    return max(draw.sampler.candidates for draw in draws)


def drawn_tokens(words: Words, rows: int, runs: int = 1) -> list[list[int | None]]:
    """Those of each row, run by run; None where none may come. Raises NumericError."""
    if words[state.NON_FINITE]:
        raise not_finite("some")
    drawn = words[state.DRAWN :].reshape(runs, state.MAX_DRAW_ROWS)[:, :rows].T
    return [[None if token == state.NONE else int(token) for token in row] for row in drawn]


def one_row(logits: Tensor, output: int) -> Tensor:
    return replace(logits, offset=logits.offset + output * logits.width, rows=1)
