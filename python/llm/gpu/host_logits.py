"""What executors share whose logits are on the host: the search, the draws, runs of one token."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from llm.gpu.adjustments import Adjustments
from llm.gpu.program import (
    FRAME_SECONDS,
    Batch,
    Candidates,
    Floats,
    decode_by_runs,
    decode_rows_by_runs,
    draw_on_host,
    largest,
)
from llm.gpu.sampler import Draw, Sampler


class HostLogits:
    """See `Executor`, of which `run` is a subclass's affair: it leaves the logits."""

    ahead = runs_ahead = 1
    submit_seconds = FRAME_SECONDS

    _logits: Floats  # (O, V), of the latest run with outputs

    if TYPE_CHECKING:

        def run(self, batch: Batch) -> None: ...

    def candidates(self, output: int, k: int, adjustments: Adjustments | None) -> Candidates:
        if adjustments is not None:
            self._logits[output] = adjustments.apply(self._logits[output])
        return largest(self._logits[output], k)

    def candidates_of_rows(
        self, k: int, adjustments: Sequence[Adjustments | None]
    ) -> list[Candidates]:
        return [self.candidates(output, k, found) for output, found in enumerate(adjustments)]

    def draw(self, draws: Sequence[Draw]) -> list[int | None]:
        return draw_on_host(self, draws)

    def decode_rows(self, batch: Batch, draws: Sequence[Draw], count: int) -> list[list[int]]:
        return decode_rows_by_runs(self, batch, draws, count)

    def decode(
        self,
        token: int,
        position: int,
        count: int,
        sampler: Sampler,
        stops: Collection[int],
        sequence: int = 0,
    ) -> list[int]:
        return decode_by_runs(self, token, position, count, sampler, stops, sequence)

    def logits(self, outputs: int) -> Floats:
        return self._logits[:outputs]
