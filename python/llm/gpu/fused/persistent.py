"""The persistent executor: one dispatch for one token, or for many, where the device allows it.

Groups of the steps kernel stay resident and meet at a barrier of our own between steps, a
microsecond where a dispatch with a barrier costs five. Source of the idea: Hazy Research 2025, a
megakernel for Llama-1B.
"""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from llm.gpu import state
from llm.gpu.adjustments import Adjustments
from llm.gpu.columns.passes import ColumnPass, Row
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.dispatch.executor import DispatchExecutor
from llm.gpu.dispatch.picks import picks_of
from llm.gpu.dispatch.search import drawn_tokens
from llm.gpu.fused.executor import DRAWN_TOKENS, TOKENS, FusedExecutor, nothing_steps
from llm.gpu.fused.step_list import StepList
from llm.gpu.profile import WorkTime, seconds_of
from llm.gpu.program import Batch, Candidates, Floats, Program, until_stop
from llm.gpu.sampler import GREEDY, Draw, Sampler
from llm.gpu.steps.packing import Words
from llm.gpu.steps.residency import PROBE_SPINS, PROBE_STEPS, SPINS, resident_groups
from llm.gpu.steps.steps import DRAWN, LIKELIEST, Step
from llm.gpu.steps.tags import tag_steps

TOKENS_A_SUBMIT = 128  # at most
TIMED_TOKENS = 32  # of a kind of step that is timed
FIRST_TOKENS = 1  # of the first submit, which shows how quick the device is


class PersistentExecutor(FusedExecutor):
    """See `Executor`. A fused executor where the groups do not run together."""

    _picks = (LIKELIEST, DRAWN)

    def __init__(self, program: Program, device: RenderingDevice) -> None:
        super().__init__(program, device)
        self._is_resident = False
        self._batch = Batch((), (), ())
        self._is_settled = True  # nothing of the last run can still go wrong
        self._has_pick = False  # the last run left the likeliest token

    def run(self, batch: Batch) -> None:
        self._catch_up()
        self._batch = batch
        self._has_pick = self._is_resident and self._runs_as_steps(batch)
        self._is_settled = not self._has_pick
        if self._has_pick:
            self._logits = self._tape(1, 1).logits
            self._write_state(batch)
            self._play_tokens(1, batch.positions[0], draws=False)
        else:
            super().run(batch)

    def candidates(self, output: int, k: int, adjustments: Adjustments | None) -> Candidates:
        is_plain = adjustments is None or adjustments.changes_nothing
        if self._has_pick and not self._is_settled and k == 1 and is_plain:
            try:
                return self._read_tokens(1)
            except _GaveUpError:
                self._fall_back()
        self._settle()
        return super().candidates(output, k, adjustments)

    def candidates_of_rows(
        self, k: int, adjustments: Sequence[Adjustments | None]
    ) -> list[Candidates]:
        self._settle()
        return super().candidates_of_rows(k, adjustments)

    def draw(self, draws: Sequence[Draw]) -> list[int | None]:
        [first, *others] = draws
        is_greedy = not others and first.sampler == GREEDY and first.adjustments is None
        if is_greedy or self._is_settled:
            return [int(self.candidates(0, 1, None).ids[0])] if is_greedy else super().draw(draws)
        logits = replace(self._kept_logits(), rows=len(draws))
        words = self._search.draw(logits, draws)  # one look at the state tells of both
        if words[state.GAVE_UP]:
            self._settle()
            return super().draw(draws)
        self._is_settled = True
        return [tokens[0] for tokens in drawn_tokens(words, len(draws))]

    def _play_runs(self, batch: Batch, draws: Sequence[Draw], count: int) -> Words:
        self._catch_up()
        self._batch, self._has_pick = batch, False
        words = super()._play_runs(batch, draws, count)
        if words[state.GAVE_UP]:
            self._fall_back()
            words = super()._play_runs(batch, draws, count)
        self._is_settled = True
        return words

    def decode(
        self,
        token: int,
        position: int,
        count: int,
        sampler: Sampler,
        stops: Collection[int],
        sequence: int = 0,
    ) -> list[int]:
        self._catch_up()
        found: list[int] = []
        self._logits = self._tape(1, 1).logits
        is_plain = not self._adapters.gains_of(Batch([token], [position], [0], [sequence]))
        while self._is_resident and is_plain and sampler.fits_device and len(found) < count:
            most = 1 if self._table_rows else self.ahead  # the host has to see each token
            n_tokens = min(most, count - len(found))
            last = found[-1] if found else token
            batch = Batch([last], [position + len(found)], [0], [sequence])
            self._write_state(batch, sampler, stops)
            started = time.perf_counter()
            self._play_tokens(n_tokens, batch.positions[0], draws=sampler.temperature > 0.0)
            try:
                made = self._read_tokens(n_tokens).ids.tolist()
            except _GaveUpError:
                self._fall_back()
                break
            seconds = (time.perf_counter() - started) / len(made)
            self.ahead = max(1, min(TOKENS_A_SUBMIT, int(self.submit_seconds / seconds)))
            if made[-1] == state.NONE:  # the draw failed; the logits are there
                best = super().candidates(0, sampler.candidates, None)
                made[-1] = int(best.ids[sampler.choose(best.logits, position + len(found + made))])
            found += until_stop(made, stops)
            if found[-1] in stops:
                return found
        if len(found) < count:
            last = found[-1] if found else token
            start = position + len(found)
            found += super().decode(last, start, count - len(found), sampler, stops, sequence)
        return found

    def logits(self, outputs: int) -> Floats:
        self._settle()
        return super().logits(outputs)

    def attention(self, batch: Batch, layer: int, pages: Sequence[int]) -> Floats:
        self._settle()
        return super().attention(batch, layer, pages)

    def _time_steps(self, label: str, words: Words) -> WorkTime:
        """Steps of one kind, in one dispatch, as often as TIMED_TOKENS tokens need them."""
        if not self._is_resident:
            return super()._time_steps(label, words)
        steps = self._upload_steps(words)
        row = self._row_of(steps, TIMED_TOKENS, self._groups, SPINS)
        # the barriers count arrivals from 0 on
        seconds = seconds_of(self._device, [row], lambda: self._write_state(self._batch))
        self._device.free(steps.buffer)
        return WorkTime(label, len(words), seconds / (len(words) * TIMED_TOKENS) * 1e6)

    def _read_tokens(self, count: int) -> Candidates:
        """At most `count` tokens: fewer where a stop came."""
        words = self._read_state()
        if words[state.GAVE_UP]:
            raise _GaveUpError
        return picks_of(words, min(count, int(words[state.DECODED])))

    def _settle(self) -> None:
        """Makes sure that the logits of the last run are there."""
        if not self._is_settled and self._read_state()[state.GAVE_UP]:
            self._fall_back()
            super().run(self._batch)
        self._is_settled = True

    def _fall_back(self) -> None:
        """The groups did not run together after all: from here on one dispatch a step."""
        self._is_resident = False
        self._drop_passes()
        self._use_groups(self._groups)  # without tags
        self.name, self.ahead = DispatchExecutor.name, DispatchExecutor.ahead

    def _drop_steps(self) -> None:
        super()._drop_steps()
        self._is_resident = False

    def _reside(self, barriers: Callable[[int], Row]) -> int:
        if not self._is_resident:
            return 0
        if self._meet(barriers(self._groups), self._groups):  # as many as of the steps: one try
            return self._groups
        return resident_groups(lambda groups: self._meet(barriers(groups), groups))

    def _play_pass(self, batch: Batch, found: ColumnPass) -> None:
        super()._play_pass(batch, found)
        self._is_settled = not found.is_resident

    def _play_tokens(self, n_tokens: int, position: int, *, draws: bool) -> None:
        is_far = self._is_far(position)
        key = (DRAWN_TOKENS if draws else TOKENS, n_tokens, int(is_far))
        table = self._tables.get(key)
        if table is None:
            steps = self._lists[is_far * len(self._picks) + draws]
            row = self._row_of(steps, n_tokens, self._groups, SPINS)
            table = self._tables[key] = self._device.table([row])
        self._device.play(table)

    def _prepare(self) -> None:
        """Finds how many groups are resident, and packs the steps for them."""
        super()._prepare()
        if not self._groups:
            return
        steps = self._upload_steps(nothing_steps(PROBE_STEPS))
        groups = resident_groups(
            lambda groups: self._meet(self._row_of(steps, 1, groups, PROBE_SPINS), groups)
        )
        self._device.free(steps.buffer)
        if groups == 0:
            return
        self._is_resident = True
        self._use_groups(groups)
        self.name = "persistent"
        self.ahead = FIRST_TOKENS

    def _list_of(self, steps: Sequence[Step], packed: list[Words]) -> StepList:
        if not self._is_resident:
            return super()._list_of(steps, packed)
        assert self._sizes is not None
        assert self._grid is not None
        copies = self._sizes.copies(self._scratch.start)
        places = tag_steps(steps, packed[: len(steps)], copies, self._grid, self._groups)
        return replace(super()._list_of(steps, packed), places=places)

    def _meet(self, row: tuple[Any, ...], groups: int) -> bool:
        """Whether so many groups met at each of PROBE_STEPS barriers."""
        self._write_state(Batch([0], [0], [0]))
        self._device.play(self._device.table([row]))
        words = self._read_state()
        return not words[state.GAVE_UP] and int(words[state.ARRIVALS]) == PROBE_STEPS * groups


class _GaveUpError(Exception):
    """A group did not come to a barrier in time."""
