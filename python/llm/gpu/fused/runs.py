"""Runs of several sequences, one after the other without the host, and draws between them."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from llm.gpu import state
from llm.gpu.dispatch.executor import DispatchExecutor
from llm.gpu.dispatch.lowering import lower_draw, lower_picks
from llm.gpu.dispatch.search import drawn_tokens, most_candidates
from llm.gpu.dispatch.state_words import Words
from llm.gpu.program import ROWS_APART, Batch, decode_rows_by_runs
from llm.gpu.sampler import Draw

RUNS = "runs"  # tables of runs
FIRST_RUNS = 2  # at once, while it is not known how long they take

Row = tuple[Any, ...]  # a dispatch


class RunsExecutor(DispatchExecutor):
    """See `Executor`."""

    def decode_rows(self, batch: Batch, draws: Sequence[Draw], count: int) -> list[list[int]]:
        has_adapters = bool(self._adapters.gains_of(batch))
        # no gain; the host has to see the tokens; operations only
        if self._device.is_cpu or self._table_rows or has_adapters:
            return decode_rows_by_runs(self, batch, draws, count)
        started = time.perf_counter()
        words = self._play_runs(batch, draws, count)
        seconds = (time.perf_counter() - started) / count
        self.runs_ahead = max(1, min(state.MAX_DRAW_RUNS, int(self.submit_seconds / seconds)))
        return [[token or 0 for token in row] for row in drawn_tokens(words, len(draws), count)]

    def _play_runs(self, batch: Batch, draws: Sequence[Draw], count: int) -> Words:
        """The state's words up to the tokens that were drawn."""
        rows, outputs, _ = self._recorded_for(batch)
        k = most_candidates(draws)
        self._write_state(batch)
        self._search.put_draws(draws)
        self._logits = self._tape(rows, outputs).logits
        sizes = (rows * ROWS_APART + outputs) * ROWS_APART + len(draws)
        key = (RUNS, sizes, k * ROWS_APART + count)
        table = self._tables.get(key)
        if table is None:
            made: list[Row] = []
            for run in range(count):
                made += self._run_and_draw(batch, len(draws), k, run)
            table = self._tables[key] = self._device.table(made)
        self._device.play(table)
        return self._search.read_drawn(count)

    def _run_and_draw(self, batch: Batch, rows: int, k: int, run: int) -> list[Row]:
        """Dispatches of a run that may follow another, and of the draws from it."""
        logits = replace(self._kept_logits(), rows=rows)
        drawing = [*lower_picks(logits, k, self._scratch), lower_draw(rows, k, run=run)]
        return [*ordered(self._forward(batch)), *ordered(self._rows_of(drawing))]


def ordered(rows: Sequence[Row]) -> list[Row]:
    """The same dispatches, after those that come before."""
    return [(*rows[0][:-1], True), *rows[1:]]
