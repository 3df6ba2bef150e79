"""What an executor on a device tells of its own work: how long it takes, and what heads look at."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from llm.gpu.attention_shares import attention_of
from llm.gpu.dispatch.adapter_memory import AdapterMemory
from llm.gpu.dispatch.dispatches import Dispatch
from llm.gpu.dispatch.lowering import Lowering
from llm.gpu.layers import PartCost, costs_of, parts_of, until_attention
from llm.gpu.operations import PAGE_CELLS, Attend, Operation, Tensor
from llm.gpu.profile import RunProfile, WorkTime, make_profile, time_dispatches
from llm.gpu.program import WORD, Batch, Floats
from llm.gpu.tape import Tape


class Inspection(AdapterMemory):
    """See `Executor`."""

    _lowering: Lowering
    _work: Any
    _logits: Tensor | None
    _hidden: Tensor | None

    if TYPE_CHECKING:

        def _tape_of(self, batch: Batch) -> Tape: ...

        def _play(self, dispatches: Iterable[Dispatch]) -> None: ...

        def _rows_of(self, dispatches: Iterable[Dispatch]) -> list[tuple[Any, ...]]: ...

        def _write_state(self, batch: Batch) -> None: ...

    @abstractmethod
    def _run_operations(self, batch: Batch) -> None:
        """An operation a dispatch."""

    def profile(self, batch: Batch) -> RunProfile:
        self._run_operations(batch)
        self._device.finish()
        barriers, times = self._time_operations(self._tape_of(batch).operations)
        return make_profile(barriers + 1, times)

    def profile_parts(self, batch: Batch) -> list[PartCost]:
        self._run_operations(batch)
        self._device.finish()
        operations = self._tape_of(batch).operations
        parts = {
            name: self._rows_of(self._lowering.lower(work))
            for (_, name), work in parts_of(operations).items()
        }
        return costs_of(operations, time_dispatches(self._device, parts))

    def attention(self, batch: Batch, layer: int, pages: Sequence[int]) -> Floats:
        operations, attend = until_attention(self._tape_of(batch).operations, layer)
        self._logits = self._hidden = None  # they are written over
        self._write_state(batch)
        self._play(self._lowering.lower(operations))
        at = attend.q.offset + (len(batch.tokens) - 1) * attend.q.stride
        q = self._read_words(self._work, at, attend.q.width, np.float32)  # (H*D,)
        size = PAGE_CELLS * attend.cache.width // 2
        keys = [
            self._read_words(
                self._paged.buffer, self._paged.start(page) + attend.cache.keys, size, np.float16
            )
            for page in pages
        ]
        cells = np.concatenate(keys).reshape(-1, attend.cache.width)  # (cells, G*D)
        return attention_of(attend, q, cells, batch.positions[-1], self._sinks(attend))

    def _sinks(self, attend: Attend) -> Floats | None:
        """(H,)"""
        if attend.sinks is None:
            return None
        placement = self._layout.placements[attend.sinks.name]
        shard, [start] = self._shards[placement.shard], placement.planes
        return np.asarray(self._read_words(shard, start, attend.heads, np.float32))

    def _read_words(self, buffer: Any, start: int, words: int, kind: type) -> Any:
        data = self._device.read_part(buffer, start * WORD, words * WORD)
        return np.frombuffer(data, kind)

    def _time_operations(self, operations: Sequence[Operation]) -> tuple[int, list[WorkTime]]:
        """The barriers between them, and each kind of dispatch that they become."""
        dispatches = self._lowering.lower(operations)
        kinds: dict[str, list[tuple[Any, ...]]] = {}
        rows = self._rows_of(dispatches)
        for dispatch, row in zip(dispatches, rows, strict=True):
            groups = "x".join(str(count) for count in dispatch.groups)
            kinds.setdefault(f"{dispatch.kernel} {groups}", []).append(row)
        return sum(row[-1] for row in rows), time_dispatches(self._device, kinds)
