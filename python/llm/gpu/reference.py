"""The reference executor: runs a tape in numpy, float32, without a GPU.

It is the truth that the GPU executors are tested against, and what serves where Godot has no
RenderingDevice. Weights are expanded to float32 in RAM once, when the model loads.
"""

import math
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, quants
from numpy.typing import NDArray

from llm.files.gguf import GgufFile
from llm.files.repack import check_packable
from llm.gpu.device.memory import require_ram
from llm.gpu.host_logits import HostLogits
from llm.gpu.operations import (
    PAGE_CELLS,
    Activation,
    Attend,
    CacheSlab,
    CacheStore,
    Count,
    Embed,
    GatedUnit,
    MatMul,
    Operation,
    Pairing,
    RMSNorm,
    Rotate,
    SelectRows,
    Tensor,
    Weight,
)
from llm.gpu.profile import RunProfile, WorkTime, make_profile
from llm.gpu.program import (
    Batch,
    Floats,
    Ids,
    Program,
    bucket,
)
from llm.gpu.tape import Tape

CHUNK_WEIGHTS = 1 << 20  # weights expanded at a time: so few that the copies stay in the caches
GELU_SCALE = math.sqrt(2.0 / math.pi)
GELU_CUBIC = 0.044715


class ReferenceExecutor(HostLogits):
    """See `Executor`. `load` is a generator, so that loading can be watched and given up."""

    name = "reference"
    device = "CPU (numpy)"

    def __init__(self, program: Program, weights: dict[str, Floats]) -> None:
        self._program = program
        self._weights = weights
        self._tapes: dict[tuple[int, int], Tape] = {}
        self._cache = np.zeros((0, program.page_words * 2), np.float16)  # (pages, halves)
        self._tables: dict[int, list[int]] = {}  # pages of each sequence
        self.grow(-(-program.context // PAGE_CELLS))
        self.place(0, range(self.pages))
        self._work = np.zeros(0, np.float32)
        self._logits: Floats = np.zeros((0, program.vocabulary), np.float32)
        self._hidden: Floats | None = None  # (T, C)
        self._batch = Batch((), (), ())
        self.rows_a_run = program.max_rows

    @classmethod
    def load(cls, program: Program, file: GgufFile) -> Generator[float, None, "ReferenceExecutor"]:
        """Yields the fraction done; returns the executor.

        Raises UnsupportedModelError for a block format it cannot expand, DeviceMemoryError where
        RAM does not suffice.
        """
        for weight in program.weights:
            check_packable(file.path, weight.name, weight.format)
        total = sum(weight.rows * weight.columns for weight in program.weights)
        require_ram(
            total * 4 + -(-program.context // PAGE_CELLS) * program.page_words * 4,
            f"{file.path} on the reference executor, in float32,",
            "pick a smaller model or the dispatch executor",
        )
        weights = {name: np.asarray(value) for name, value in program.constants.items()}
        done = 0
        for weight in program.weights:
            expanded = np.empty((weight.rows, weight.columns), np.float32)
            for start, count in _row_chunks(weight):
                expanded[start : start + count] = _expand(file, weight, start, count)
                done += count * weight.columns
                yield done / total
            weights[weight.name] = expanded
        return cls(program, weights)

    @property
    def memory_bytes(self) -> int:
        return self._cache.nbytes + sum(weight.nbytes for weight in self._weights.values())

    @property
    def pages(self) -> int:
        return len(self._cache)

    def grow(self, pages: int) -> None:
        more = np.zeros((pages - self.pages, self._program.page_words * 2), np.float16)
        self._cache = np.concatenate([self._cache, more])

    def place(self, sequence: int, pages: Sequence[int], first: int = 0) -> None:
        table = self._tables.setdefault(sequence, [])
        table[first : first + len(pages)] = pages

    def copy_page(self, source: int, target: int) -> None:
        self._cache[target] = self._cache[source]

    def read_page(self, page: int) -> bytes:
        return bytes(self._cache[page])

    def write_page(self, page: int, data: bytes) -> None:
        self._cache[page] = np.frombuffer(data, np.float16)

    def run(self, batch: Batch) -> None:
        rows = bucket(len(batch.tokens), self._program.max_rows)
        outputs = len(batch.outputs)
        tape = self._tapes.get((rows, outputs))
        if tape is None:
            tape = self._tapes[rows, outputs] = self._program.record(rows, outputs)
        if self._work.size < tape.work_floats:
            self._work = np.zeros(tape.work_floats, np.float32)
        self._batch = batch
        # NaN weights must reach the logits, where they are reported, without a warning a layer
        with np.errstate(invalid="ignore", over="ignore"):
            for operation in tape.operations:
                _RUN[type(operation)](self, operation)
        if tape.logits is not None:
            self._logits = self._view(tape.logits, outputs).copy()
        self._hidden = None if tape.hidden is None else self._view(tape.hidden).copy()

    def hidden(self, rows: int) -> Floats:
        if self._hidden is None:
            raise ValueError("the last run kept logits, and no hidden rows")
        return self._hidden[:rows]

    def profile(self, batch: Batch) -> RunProfile:
        self.run(batch)
        rows = bucket(len(batch.tokens), self._program.max_rows)
        seconds: dict[str, list[float]] = {}
        with np.errstate(invalid="ignore", over="ignore"):
            for operation in self._tapes[rows, len(batch.outputs)].operations:
                started = time.perf_counter()
                _RUN[type(operation)](self, operation)
                taken = time.perf_counter() - started
                seconds.setdefault(type(operation).__name__, []).append(taken)
        times = [
            WorkTime(name, len(each), sum(each) / len(each) * 1e6) for name, each in seconds.items()
        ]
        return make_profile(sum(work.count for work in times), times)

    def close(self) -> None:
        self._weights.clear()
        self._tapes.clear()
        self._cache = np.zeros((0, 0), np.float16)
        self._work = np.zeros(0, np.float32)

    # One method an operation: the formula stands in operations.py.

    def _embed(self, op: Embed) -> None:
        tokens = np.asarray(self._batch.tokens)
        self._view(op.y)[:] = self._weights[op.weight.name][tokens] * np.float32(op.scale)

    def _rms_norm(self, op: RMSNorm) -> None:
        rows = self._rows(op.count)
        normed = _normalize(self._view(op.x, rows), op.eps) * self._weights[op.weight.name][0]
        if op.residual is not None:
            normed = normed + self._view(op.residual, rows)
        self._view(op.y, rows)[:] = normed

    def _matmul(self, op: MatMul) -> None:
        rows = self._rows(op.count)
        weight = self._weights[op.weight.name]  # (M, K)
        if op.residual is None:
            np.matmul(self._view(op.x, rows), weight.T, out=self._view(op.y, rows))
        else:
            product = self._view(op.x, rows) @ weight.T  # (rows, M)
            np.add(self._view(op.residual, rows), product, out=self._view(op.y, rows))

    def _rotate(self, op: Rotate) -> None:
        x = self._view(op.x)
        heads = x.reshape(len(x), op.heads, -1)  # (T, heads, D)
        if op.norm is not None:
            heads = _normalize(heads, op.eps) * self._weights[op.norm.name][0]
        turns = self._weights[op.table.name].astype(np.float64).sum(axis=1)  # (pairs,)
        angle = 2.0 * np.pi * ((np.asarray(self._batch.positions)[:, None] * turns) % 1.0)
        cosine = np.cos(angle).astype(np.float32)[:, None, :]  # (T, 1, pairs)
        sine = np.sin(angle).astype(np.float32)[:, None, :]  # (T, 1, pairs)
        if op.pairing is Pairing.ADJACENT:
            firsts, seconds = slice(0, op.turned, 2), slice(1, op.turned, 2)
        else:
            firsts, seconds = slice(op.turned // 2), slice(op.turned // 2, op.turned)
        first, second = heads[:, :, firsts], heads[:, :, seconds]  # (T, heads, pairs) each
        rotated = heads.copy()  # (T, heads, D)
        rotated[:, :, firsts] = first * cosine - second * sine
        rotated[:, :, seconds] = first * sine + second * cosine
        x[:] = (rotated * np.float32(op.scale)).reshape(x.shape)

    def _cache_store(self, op: CacheStore) -> None:
        keys, values = self._slab(op.cache)
        for sequence, rows in self._rows_by_sequence():
            pages, cells = self._places(sequence, np.asarray(self._batch.positions)[rows])
            keys[pages, cells] = self._view(op.k)[rows]
            values[pages, cells] = self._view(op.v)[rows]

    def _attend(self, op: Attend) -> None:
        for sequence, rows in self._rows_by_sequence():
            self._attend_rows(op, sequence, rows)

    def _attend_rows(self, op: Attend, sequence: int, rows: list[int]) -> None:
        """Rows of one sequence."""
        keys, values = self._slab(op.cache)
        positions = np.asarray(self._batch.positions)[rows]  # (T,)
        first = max(0, int(positions.min()) - op.window + 1) if op.window else 0
        cells = np.arange(first, int(positions.max()) + 1)
        hidden = cells[None, :] > positions[:, None]  # (T, cells)
        if op.window:
            hidden |= cells[None, :] <= positions[:, None] - op.window
        places = self._places(sequence, cells)
        size = op.q.width // op.heads
        group = op.heads // op.kv_heads
        q = self._view(op.q)[rows].reshape(len(rows), op.heads, size)  # (T, H, D)
        y = np.empty_like(q)  # (T, H, D)
        for kv_head in range(op.kv_heads):
            columns = slice(kv_head * size, (kv_head + 1) * size)
            heads = slice(kv_head * group, (kv_head + 1) * group)
            k = keys[(*places, columns)].astype(np.float32)  # (cells, D)
            v = values[(*places, columns)].astype(np.float32)  # (cells, D)
            scores = q[:, heads] @ k.T  # (T, group, cells)
            scores[np.broadcast_to(hidden[:, None, :], scores.shape)] = -np.inf
            scores -= scores.max(axis=2, keepdims=True)
            np.exp(scores, out=scores)
            y[:, heads] = (scores @ v) / scores.sum(axis=2, keepdims=True)
        self._view(op.y)[rows] = y.reshape(len(rows), -1)

    def _gated_unit(self, op: GatedUnit) -> None:
        gate = self._view(op.gate)
        if op.activation is Activation.SILU:
            activated = gate / (1.0 + np.exp(-gate))
        else:
            inner = GELU_SCALE * (gate + GELU_CUBIC * (gate * gate * gate))  # ** is 20 times slower
            activated = 0.5 * gate * (1.0 + np.tanh(inner))
        self._view(op.y)[:] = activated * self._view(op.up)

    def _select_rows(self, op: SelectRows) -> None:
        outputs = np.asarray(self._batch.outputs, np.int64)
        self._view(op.y, len(outputs))[:] = self._view(op.x)[outputs]

    def _rows(self, count: Count) -> int:
        return len(self._batch.tokens if count is Count.ROWS else self._batch.outputs)

    def _view(self, tensor: Tensor, rows: int | None = None) -> Floats:
        count = len(self._batch.tokens) if rows is None else rows
        flat = self._work[tensor.offset : tensor.offset + count * tensor.width]
        return flat.reshape(count, tensor.width)

    def _slab(self, cache: CacheSlab) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
        """Keys and values of a layer, (pages, PAGE_CELLS, G*D) each."""
        size = PAGE_CELLS * cache.width
        keys = self._cache[:, cache.keys * 2 : cache.keys * 2 + size]
        values = self._cache[:, cache.values * 2 : cache.values * 2 + size]
        shape = (self.pages, PAGE_CELLS, cache.width)
        return keys.reshape(shape, copy=False), values.reshape(shape, copy=False)

    def _places(self, sequence: int, cells: NDArray[np.int64]) -> tuple[Ids, Ids]:
        """The page of each cell of a sequence, and which cell of it that is."""
        table = np.asarray(self._tables[sequence])
        return table[cells // PAGE_CELLS], cells % PAGE_CELLS

    def _rows_by_sequence(self) -> list[tuple[int, list[int]]]:
        """Each sequence of the run, and its rows."""
        rows: dict[int, list[int]] = {}
        sequences = self._batch.sequences or [0] * len(self._batch.tokens)
        for row, sequence in enumerate(sequences):
            rows.setdefault(sequence, []).append(row)
        return list(rows.items())


_RUN: dict[type[Operation], Callable[[ReferenceExecutor, Any], None]] = {
    Embed: ReferenceExecutor._embed,
    RMSNorm: ReferenceExecutor._rms_norm,
    MatMul: ReferenceExecutor._matmul,
    Rotate: ReferenceExecutor._rotate,
    CacheStore: ReferenceExecutor._cache_store,
    Attend: ReferenceExecutor._attend,
    GatedUnit: ReferenceExecutor._gated_unit,
    SelectRows: ReferenceExecutor._select_rows,
}


def _normalize(x: Floats, eps: float) -> Floats:
    mean_square = np.mean(np.square(x), axis=-1, keepdims=True, dtype=np.float32)
    return np.asarray(x / np.sqrt(mean_square + np.float32(eps)), np.float32)


def _row_chunks(weight: Weight) -> Generator[tuple[int, int], None, None]:
    step = max(1, CHUNK_WEIGHTS // weight.columns)
    for start in range(0, weight.rows, step):
        yield start, min(step, weight.rows - start)


def _expand(file: GgufFile, weight: Weight, start: int, count: int) -> Floats:
    """Rows start to start + count of a weight in float32, (count, K)."""
    row_bytes = weight.columns // weight.format.values * weight.format.bytes
    raw = file.data(weight.name)[start * row_bytes : (start + count) * row_bytes]
    expanded = quants.dequantize(
        raw.reshape(count, row_bytes), GGMLQuantizationType(weight.format.id)
    )
    return expanded.astype(np.float32, copy=False).reshape(count, weight.columns)
