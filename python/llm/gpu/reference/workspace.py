"""What the operations of a run read and write."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from llm.gpu.host_tables import HostTable
from llm.gpu.operations import PAGE_CELLS, CacheSlab, Count, StateSlab, Tensor
from llm.gpu.program import Batch, Floats, Ids
from llm.gpu.reference.slots import HostSlots


class Workspace:
    """Weights in float32, activations, the cache in pages, and recurrent state in slots.

    `batch` is the run's.
    """

    def __init__(
        self,
        weights: dict[str, Floats],
        tables: dict[str, HostTable],
        page_words: int,
        state_words: int,
    ) -> None:
        self.weights = weights  # by name, (M, K) each
        self.tables = tables  # by name, further weights
        self.batch = Batch((), (), ())
        self.cache = np.zeros((0, page_words * 2), np.float16)  # (pages, halves)
        self.slots = HostSlots(state_words)
        self._tables: dict[int, list[int]] = {}  # pages of each sequence
        self._work = np.zeros(0, np.float32)

    @property
    def memory_bytes(self) -> int:
        weights = sum(weight.nbytes for weight in self.weights.values())
        return self.cache.nbytes + self.slots.nbytes + weights

    @property
    def pages(self) -> int:
        return len(self.cache)

    def grow(self, pages: int) -> None:
        more = np.zeros((pages - self.pages, self.cache.shape[1]), np.float16)
        self.cache = np.concatenate([self.cache, more])

    def place(self, sequence: int, pages: Sequence[int], first: int) -> None:
        table = self._tables.setdefault(sequence, [])
        table[first : first + len(pages)] = pages

    def reserve(self, floats: int) -> None:
        """Activations have room for so many."""
        if self._work.size < floats:
            self._work = np.zeros(floats, np.float32)

    def clear(self) -> None:
        self.weights.clear()
        self.tables.clear()
        self.cache = np.zeros((0, 0), np.float16)
        self.slots = HostSlots(0)
        self._work = np.zeros(0, np.float32)

    def rows(self, count: Count) -> int:
        return len(self.batch.tokens if count is Count.ROWS else self.batch.outputs)

    def view(self, tensor: Tensor, rows: int | None = None) -> Floats:
        """Its first rows, as many as the run has tokens where none are named: (rows, width)."""
        count = len(self.batch.tokens) if rows is None else rows
        start = tensor.offset
        if tensor.stride == tensor.width:
            return self._work[start : start + count * tensor.width].reshape(count, tensor.width)
        floats = self._work[start:]
        shape, strides = (count, tensor.width), (tensor.stride * floats.itemsize, floats.itemsize)
        return np.lib.stride_tricks.as_strided(floats, shape, strides)

    def slab(self, cache: CacheSlab) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
        """Keys and values of a layer, (pages, PAGE_CELLS, G*D) each."""
        size = PAGE_CELLS * cache.width
        keys = self.cache[:, cache.keys * 2 : cache.keys * 2 + size]
        values = self.cache[:, cache.values * 2 : cache.values * 2 + size]
        shape = (self.pages, PAGE_CELLS, cache.width)
        return keys.reshape(shape, copy=False), values.reshape(shape, copy=False)

    def state(self, sequence: int, slab: StateSlab, row: int) -> Floats:
        """What a sequence's slot has of a layer, (floats,), as its first row of the run finds it:
        zeros where the row begins the sequence."""
        found = self.slots.of(sequence)[slab.start : slab.start + slab.floats]
        if self.batch.positions[row] == 0:
            found[:] = 0.0
        return found

    def places(self, sequence: int, cells: NDArray[np.int64]) -> tuple[Ids, Ids]:
        """The page of each cell of a sequence, and which cell of it that is."""
        table = np.asarray(self._tables[sequence])
        return table[cells // PAGE_CELLS], cells % PAGE_CELLS

    def rows_by_sequence(self) -> list[tuple[int, list[int]]]:
        """Each sequence of the run, and its rows."""
        rows: dict[int, list[int]] = {}
        sequences = self.batch.sequences or [0] * len(self.batch.tokens)
        for row, sequence in enumerate(sequences):
            rows.setdefault(sequence, []).append(row)
        return list(rows.items())
