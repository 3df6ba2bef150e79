"""How long the steps of a token take, and a pass of columns: see inspection.py of dispatch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from llm.gpu.columns.pass_profile import time_pass, units
from llm.gpu.columns.passes import ColumnPass, Row
from llm.gpu.fused.runs import RunsExecutor
from llm.gpu.fused.step_list import StepList
from llm.gpu.layers import PartCost, costs_of, places_of
from llm.gpu.profile import RunProfile, WorkTime, make_profile, seconds_of
from llm.gpu.program import Batch
from llm.gpu.steps.packing import Words
from llm.gpu.steps.steps import Step

REPEATS = 32  # of a step that is timed


class StepInspection(RunsExecutor):
    """See `Executor`."""

    if TYPE_CHECKING:

        def _catch_up(self) -> None: ...

        def _pass_of(self, batch: Batch) -> ColumnPass | None: ...

        def _runs_as_steps(self, batch: Batch) -> bool: ...

        def _steps_of(self, batch: Batch) -> list[Step]: ...

        def _packed(self, steps: Sequence[Step]) -> list[Words]: ...

        def _upload_steps(self, words: Words) -> StepList: ...

        def _rows_of_steps(self, steps: StepList) -> list[Row]: ...

    def profile(self, batch: Batch) -> RunProfile:
        self._catch_up()
        found = self._pass_of(batch)
        if found is not None:
            return self._profile_pass(batch, found)
        if not self._runs_as_steps(batch):
            return super().profile(batch)
        kinds = [step.label for step in self._steps_of(batch)]
        return make_profile(len(kinds), self._time_token(batch, kinds))

    def profile_parts(self, batch: Batch) -> list[PartCost]:
        self._catch_up()
        if not self._runs_as_steps(batch):
            return super().profile_parts(batch)
        names = [name for _, name in places_of(self._steps_of(batch))]
        return costs_of(self._tape_of(batch).operations, self._time_token(batch, names))

    def _time_token(self, batch: Batch, kinds: Sequence[str]) -> list[WorkTime]:
        """Each kind of its steps; `kinds` are the steps'."""
        self.run(batch)
        self._device.finish()
        found: dict[str, list[Words]] = {}
        for kind, words in zip(kinds, self._packed(self._steps_of(batch)), strict=True):
            found.setdefault(kind, []).append(words)
        return [self._time_steps(kind, np.stack(words)) for kind, words in found.items()]

    def _time_steps(self, kind: str, words: Words) -> WorkTime:
        steps = self._upload_steps(words)
        seconds = seconds_of(self._device, self._rows_of_steps(steps) * REPEATS)
        self._device.free(steps.buffer)
        return WorkTime(kind, len(words), seconds / (len(words) * REPEATS) * 1e6)

    def _profile_pass(self, batch: Batch, found: ColumnPass) -> RunProfile:
        self.run(batch)
        self._device.finish()
        barriers = len(units(found))
        times = time_pass(self._device, found, lambda: self._write_state(batch))
        for operations in (found.layers.before, found.layers.after):
            more, of_operations = self._time_operations(operations)
            barriers, times = barriers + more + 1, times + of_operations
        return make_profile(barriers, times)
