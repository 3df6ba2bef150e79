"""The reference executor: runs a tape in numpy, float32, without a GPU.

It is the truth that the GPU executors are tested against, and what serves where Godot has no
RenderingDevice. Weights are expanded to float32 in RAM once, when the model loads.
"""

import time
from collections.abc import Generator, Sequence

import numpy as np
from gguf import GGMLQuantizationType, quants

from llm.files.model_file import ModelFile
from llm.files.repack import check_packable
from llm.gpu.adapters import Adapter, Adapters, Gains
from llm.gpu.attention_shares import attention_of
from llm.gpu.device.memory import require_ram
from llm.gpu.host_logits import HostLogits
from llm.gpu.host_tables import HostTable, host_tables
from llm.gpu.layers import PartCost, costs_of, places_of, until_attention
from llm.gpu.operations import PAGE_CELLS, Operation, Weight
from llm.gpu.profile import RunProfile, WorkTime, make_profile
from llm.gpu.program import WORD, Batch, Floats, Program, bucket
from llm.gpu.reference.attention import ATTENTION
from llm.gpu.reference.dense import DENSE
from llm.gpu.reference.encoders import ENCODERS
from llm.gpu.reference.experts import EXPERTS
from llm.gpu.reference.recurrent import RECURRENT
from llm.gpu.reference.slots import HostSlots
from llm.gpu.reference.streams import STREAMS
from llm.gpu.reference.workspace import Workspace
from llm.gpu.stored_rows import stored_rows
from llm.gpu.tape import Tape

CHUNK_WEIGHTS = 1 << 20  # weights expanded at a time: so few that the copies stay in the caches
RUN = {**DENSE, **ENCODERS, **ATTENTION, **EXPERTS, **RECURRENT, **STREAMS}  # by operation


class ReferenceExecutor(HostLogits):
    """See `Executor`. `load` is a generator, so that loading can be watched and given up."""

    name = "reference"
    device = "CPU (numpy)"

    def __init__(
        self, program: Program, weights: dict[str, Floats], tables: dict[str, HostTable]
    ) -> None:
        self._program = program
        self._run = Workspace(weights, tables, program.page_words, program.state_words)
        self._adapters = Adapters(program)
        self.grow(-(-program.context // PAGE_CELLS))
        self.place(0, range(self.pages))
        self._logits: Floats = np.zeros((0, program.vocabulary), np.float32)
        self._hidden: Floats | None = None  # (T, C)
        self.rows_a_run = program.max_rows

    @classmethod
    def load(cls, program: Program, file: ModelFile) -> Generator[float, None, "ReferenceExecutor"]:
        """Yields the fraction done; returns the executor.

        Raises UnsupportedModelError for a block format it cannot expand, DeviceMemoryError where
        RAM does not suffice.
        """
        for weight in program.weights:
            check_packable(file.path, weight.name, weight.format)
        total = sum(weight.rows * weight.columns for weight in program.weights)
        require_ram(
            (total + program.state_words) * WORD + program.cache_bytes,
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
        return cls(program, weights, host_tables(program, file))

    @property
    def memory_bytes(self) -> int:
        return self._run.memory_bytes

    @property
    def pages(self) -> int:
        return self._run.pages

    def grow(self, pages: int) -> None:
        self._run.grow(pages)

    def place(self, sequence: int, pages: Sequence[int], first: int = 0) -> None:
        self._run.place(sequence, pages, first)

    def copy_page(self, source: int, target: int) -> None:
        self._run.cache[target] = self._run.cache[source]

    def read_page(self, page: int) -> bytes:
        return bytes(self._run.cache[page])

    def write_page(self, page: int, data: bytes) -> None:
        self._run.cache[page] = np.frombuffer(data, np.float16)

    @property
    def slots(self) -> HostSlots | None:
        return self._run.slots if self._program.state_words else None

    def add_adapter(self, path: str, architecture: str) -> Adapter:
        adapter, arrays = self._adapters.add(path, architecture)
        weights = {name: values.astype(np.float32, copy=False) for name, values in arrays.items()}
        weights |= {gain.name: np.zeros((1, gain.columns), np.float32) for gain in adapter.gains}
        self._run.weights.update(weights)
        return adapter

    def remove_adapter(self, number: int) -> None:
        for weight in self._adapters.remove(number).weights:
            del self._run.weights[weight.name]

    def adapt(self, sequence: int, gains: Gains) -> None:
        self._adapters.adapt(sequence, gains)

    def run(self, batch: Batch) -> None:
        tape = self._tape(batch)
        self._play(batch, tape, tape.operations)
        if tape.logits is not None:
            self._logits = self._run.view(tape.logits, len(batch.outputs)).copy()
        self._hidden = None if tape.hidden is None else self._run.view(tape.hidden).copy()

    def hidden(self, rows: int) -> Floats:
        if self._hidden is None:
            raise ValueError("the last run kept logits, and no hidden rows")
        return self._hidden[:rows]

    def profile(self, batch: Batch) -> RunProfile:
        kinds = [type(operation).__name__ for operation in self._tape(batch).operations]
        times = self._time(batch, kinds)
        return make_profile(sum(work.count for work in times), times)

    def profile_parts(self, batch: Batch) -> list[PartCost]:
        operations = self._tape(batch).operations
        names = [name for _, name in places_of(operations)]
        return costs_of(operations, self._time(batch, names))

    def attention(self, batch: Batch, layer: int, pages: Sequence[int]) -> Floats:
        tape = self._tape(batch)
        operations, attend = until_attention(tape.operations, layer)
        self._play(batch, tape, operations)
        q = self._run.view(attend.q)[-1]  # (H*D,)
        keys, _ = self._run.slab(attend.cache)
        keys = keys[list(pages)].reshape(-1, attend.cache.width)  # (cells, G*D)
        sinks = None if attend.sinks is None else self._run.weights[attend.sinks.name][0]
        return attention_of(attend, q, keys, batch.positions[-1], sinks)

    def close(self) -> None:
        self._run.clear()

    def _play(self, batch: Batch, tape: Tape, operations: Sequence[Operation]) -> None:
        """Some of the tape's operations."""
        for number, weight in self._adapters.gains_of(batch):
            for gain in self._adapters.loaded[number].gains:
                self._run.weights[gain.name][:] = weight
        self._run.reserve(tape.work_floats)
        self._run.batch = batch
        # NaN weights must reach the logits, where they are reported, without a warning a layer
        with np.errstate(invalid="ignore", over="ignore"):
            for operation in operations:
                RUN[type(operation)](self._run, operation)

    def _time(self, batch: Batch, kinds: Sequence[str]) -> list[WorkTime]:
        """Each kind of operation of a run; `kinds` are the operations'."""
        self.run(batch)
        seconds: dict[str, list[float]] = {}
        with np.errstate(invalid="ignore", over="ignore"):
            for kind, operation in zip(kinds, self._tape(batch).operations, strict=True):
                started = time.perf_counter()
                RUN[type(operation)](self._run, operation)
                seconds.setdefault(kind, []).append(time.perf_counter() - started)
        return [
            WorkTime(kind, len(each), sum(each) / len(each) * 1e6) for kind, each in seconds.items()
        ]

    def _tape(self, batch: Batch) -> Tape:
        rows = bucket(len(batch.tokens), self._program.max_rows)
        outputs = len(batch.outputs)
        return self._adapters.tape(rows, outputs, self._adapters.numbers_of(batch))


def _row_chunks(weight: Weight) -> Generator[tuple[int, int], None, None]:
    step = max(1, CHUNK_WEIGHTS // weight.columns)
    for start in range(0, weight.rows, step):
        yield start, min(step, weight.rows - start)


def _expand(file: ModelFile, weight: Weight, start: int, count: int) -> Floats:
    """Rows start to start + count of a weight in float32, (count, K)."""
    raw = stored_rows(file, weight, start, count).reshape(count, -1)
    expanded = quants.dequantize(raw, GGMLQuantizationType(weight.format.id))
    return expanded.astype(np.float32, copy=False).reshape(count, weight.columns)
