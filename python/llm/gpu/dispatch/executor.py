"""The dispatch executor: one compute dispatch for each operation of a tape, on Godot's GPU device.

A tape is turned once into a table of dispatches, with barriers only where two of them touch the
same bytes; the table is replayed in C, so a token costs one Python call. Position, lengths and
tokens stand in the state buffer, which is all that is uploaded from token to token.
"""

from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from llm.errors import DeviceError
from llm.files.model_file import ModelFile
from llm.gpu import state
from llm.gpu.adapters import Recorded
from llm.gpu.adjustments import Adjustments
from llm.gpu.device.lanes import has_lanes
from llm.gpu.device.matrices import usable_tiles
from llm.gpu.device.memory import require_ram
from llm.gpu.device.placement import ALIGNMENT, Layout, place
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.device.upload import F32, upload_weights
from llm.gpu.dispatch.adjusting import LogitAdjuster
from llm.gpu.dispatch.dispatches import Dispatch, Scratch
from llm.gpu.dispatch.hazards import HazardTracker
from llm.gpu.dispatch.inspection import Inspection
from llm.gpu.dispatch.launches_attend import AttendDevice
from llm.gpu.dispatch.lowering import Lowering, lower_draw, lower_picks, mask_words, scratch_floats
from llm.gpu.dispatch.lowering_attend import AttendLowering
from llm.gpu.dispatch.lowering_products import Addresses, ProductLowering, product_scratch_floats
from llm.gpu.dispatch.lowering_recurrent import RecurrentLowering
from llm.gpu.dispatch.pace import find_rows
from llm.gpu.dispatch.requirements import check_weights
from llm.gpu.dispatch.search import TokenSearch, drawn_tokens, one_row
from llm.gpu.dispatch.state_words import Words, fill_state
from llm.gpu.dispatch.table_rows import TableRows
from llm.gpu.host_tables import fit_device, host_tables
from llm.gpu.kernels.shader_source import expand
from llm.gpu.kernels.variants import KERNELS
from llm.gpu.operations import Tensor, Weight
from llm.gpu.program import (
    FRAME_SECONDS,
    LANE_BUCKETS,
    ROW_BUCKETS,
    ROWS_APART,
    WORD,
    Batch,
    Candidates,
    Floats,
    Program,
    bucket,
    decode_by_runs,
    decode_rows_by_runs,
    largest,
)
from llm.gpu.sampler import GREEDY, Draw, Sampler
from llm.gpu.tape import Tape

FORWARD, APART = "forward", "forward of several sequences"
LOADED = 0.9  # share of the progress that the weights take; kernels take the rest


class DispatchExecutor(Inspection):
    """See `Executor`. `load` is a generator, so that loading can be watched and given up."""

    name = "dispatch"
    ahead = runs_ahead = 1
    submit_seconds = FRAME_SECONDS

    def __init__(self, program: Program, device: RenderingDevice, extra_scratch: int = 0) -> None:
        """Allocates every buffer. Raises DeviceMemoryError, with nothing left allocated."""
        super().__init__(program, device)
        constants = [Weight(name, F32, *value.shape) for name, value in program.constants.items()]
        self.device = device.name
        self.rows_a_run = program.max_rows
        self._layout: Layout = place([*constants, *program.weights], far=program.far_tables)
        largest_tape = program.record(program.max_rows, program.max_outputs)
        self._tiles = usable_tiles(device)  # of products
        plain = AttendDevice(device.is_cpu, has_lanes=has_lanes(device))
        size = self._tiles[0].subgroup_size if self._tiles else 0
        self._attend_device = replace(plain, subgroup_size=size, shared_memory=device.shared_memory)
        devices = {plain, self._attend_device}
        floats = scratch_floats(largest_tape, program.vocabulary, devices)
        self._scratch = Scratch(largest_tape.work_floats, max(extra_scratch, floats))
        start = -(-(self._scratch.start + self._scratch.size) // ALIGNMENT) * ALIGNMENT
        floats = product_scratch_floats(largest_tape, self._tiles)
        self._product_scratch = Scratch(start, floats)
        end = self._product_scratch.start + self._product_scratch.size
        masked_rows = min(program.max_outputs, ROWS_APART)
        masks = Scratch(end, masked_rows * mask_words(program.vocabulary))
        sizes = {
            "the activations": (masks.start + masks.size) * WORD,
            "the state": state.STATE_WORDS * WORD,
            **{
                f"weight buffer {shard}": words * WORD
                for shard, words in enumerate(self._layout.shard_words)
            },
        }
        far = list(sizes)[2 + self._layout.n_bound :]
        self._fixed_bytes = sum(sizes.values())
        if device.is_cpu:
            advice = "pick a smaller model or a shorter context_length"
            require_ram(self.memory_bytes, f"the model on {device.name}", advice)
        self._buffers: list[Any] = []
        try:
            for what, size in sizes.items():
                bound = what not in far
                self._buffers.append(device.buffer(size, what, addressed=True, bound=bound))
            self._allocate_memory()
        except BaseException:
            self.close()
            raise
        self._work, self._state, *self._shards = self._buffers
        self._table_rows = TableRows(device, self._work, {})
        adjuster = LogitAdjuster(device, self._work, self._state, masks, self._play)
        self._search = TokenSearch(device, self._state, self._scratch, adjuster, self._table)
        self._buckets = LANE_BUCKETS if plain.has_lanes else ROW_BUCKETS
        self._lowering = self._make_lowering()
        self._sets: dict[tuple[int, bool], Any] = {}  # by weight buffer, and whether with slots
        self._shared_shader: Any = None
        self._tables: dict[tuple[Any, ...], Any] = {}
        self._logits: Tensor | None = None  # of the latest run
        self._hidden: Tensor | None = None  # of the latest run that kept no logits
        self._state_bytes = device.staging(state.ADJUSTED * WORD)
        self._state_words = np.frombuffer(self._state_bytes.view(), np.uint32)

    @classmethod
    def load(
        cls, program: Program, file: ModelFile, device: RenderingDevice
    ) -> Generator[float, None, "DispatchExecutor"]:
        """Yields the fraction done; returns the executor. Raises LLMError."""
        program = replace(program, tables_in_ram=not fit_device(program, device))
        check_weights(program, file)
        executor = cls(program, device)
        executor._table_rows = TableRows(device, executor._work, host_tables(program, file))
        try:
            names = executor._start_kernels()  # while the weights are on their way
            for fraction in upload_weights(
                device, executor._shards, executor._layout, program, file
            ):
                yield fraction * LOADED
            executor._clear_memory()
            yield from executor._finish_kernels()
            executor._shared_shader = device.shader(names[-1])
            if not device.is_cpu:
                executor.rows_a_run = find_rows(
                    lambda rows: executor._run_operations(Batch([0] * rows, range(rows), [])),
                    program.max_rows,
                )
        except BaseException:
            executor.close()
            raise
        return executor

    @property
    def memory_bytes(self) -> int:
        return self._fixed_bytes + self._memory_bytes

    def run(self, batch: Batch) -> None:
        self._run_operations(batch)

    def _run_operations(self, batch: Batch) -> None:
        recorded = self._recorded_for(batch)
        self._write_state(batch)
        tape = self._tape(*recorded)
        self._logits, self._hidden = tape.logits, tape.hidden
        key = (APART if batch.are_apart else FORWARD, *recorded)
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = self._device.table(DispatchExecutor._forward(self, batch))
        self._device.play(table)
        if not batch.outputs:
            self._device.finish()  # keeps the work of one submit short

    def candidates(self, output: int, k: int, adjustments: Adjustments | None) -> Candidates:
        row = one_row(self._kept_logits(), output)
        if k == 0 or k > state.MAX_PICKS:
            self._search.adjuster.adjust(row, [adjustments])
            return largest(self._read_floats(row)[0], k)
        return self._search.best(row, k, [adjustments])[0]

    def candidates_of_rows(
        self, k: int, adjustments: Sequence[Adjustments | None]
    ) -> list[Candidates]:
        rows = len(adjustments)
        if k > state.MAX_PICKS or rows * k > state.ALL_PICKS:
            return [self.candidates(output, k, found) for output, found in enumerate(adjustments)]
        return self._search.best(replace(self._kept_logits(), rows=rows), k, adjustments)

    def draw(self, draws: Sequence[Draw]) -> list[int | None]:
        words = self._search.draw(replace(self._kept_logits(), rows=len(draws)), draws)
        return [tokens[0] for tokens in drawn_tokens(words, len(draws))]

    def decode_rows(self, batch: Batch, draws: Sequence[Draw], count: int) -> list[list[int]]:
        return decode_rows_by_runs(self, batch, draws, count)

    def _forward(self, batch: Batch) -> list[tuple[Any, ...]]:
        """Dispatches that run it."""
        tape = self._tape_of(batch)
        return self._rows_of(self._lowering.lower(tape.operations, are_apart=batch.are_apart))

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
        return self._read_floats(replace(self._kept_logits(), rows=outputs))

    def hidden(self, rows: int) -> Floats:
        if self._logits is not None or self._hidden is None:
            raise ValueError("the last run kept logits, and no hidden rows")
        return self._read_floats(replace(self._hidden, rows=rows))

    def close(self) -> None:
        self._tables = {}
        if self._buffers:
            self._free_memory()
            self._device.free(*self._buffers)  # and with them their uniform sets
            self._buffers = []
            self._device.finish()  # the memory returns only now

    def _read_state(self) -> Words:
        return self._search.read_state()

    def _kernels_of_first_token(self) -> list[str]:
        """Kernels that a first prompt of any length needs, so that no compile falls into it."""
        most = self._program.max_rows
        sizes = sorted({bucket(rows, most, self._buckets) for rows in range(1, most + 1)})
        tapes = [self._tape(rows, 1) for rows in sizes]
        dispatches = [
            dispatch for tape in tapes for dispatch in self._lowering.lower(tape.operations)
        ]
        self._logits = tapes[0].logits
        if not self._program.is_encoder:
            row = one_row(self._kept_logits(), 0)
            dispatches += lower_picks(row, 1, self._scratch)
            dispatches += lower_picks(row, 2, self._scratch)
            dispatches.append(lower_draw(1, 1))
        return list(dict.fromkeys(dispatch.kernel for dispatch in dispatches))

    def _find_addresses(self) -> Addresses | None:
        """Of a device that has lanes."""
        if not self._attend_device.has_lanes:
            return None
        buffers = self._work, self._paged.buffer, *self._shards
        work, cache, *shards = map(self._device.address, buffers)
        return Addresses(work, cache, tuple(shards))

    def _make_lowering(self) -> Lowering:
        is_cpu, addresses = self._device.is_cpu, self._find_addresses()
        products = ProductLowering(
            self._layout,
            self._product_scratch,
            self._tiles,
            is_cpu=is_cpu,
            addresses=addresses,
        )
        attention = AttendLowering(self._scratch, self._attend_device, addresses)
        quads = self._paged.table_quads
        recurrent = RecurrentLowering(self._layout, quads, is_cpu=is_cpu)
        far = [self._device.address(shard) for shard in self._shards[self._layout.n_bound :]]
        return Lowering(self._layout, products, attention, recurrent, far)

    def _finish_kernels(self) -> Generator[float, None, None]:
        """Waits for each kernel."""
        names = self._kernels_of_first_token()
        for done, name in enumerate(names):
            try:
                self._device.pipeline(name, expand(name))
            except DeviceError:
                if not self._avoid(KERNELS[name].source):
                    raise
                for _ in self._finish_kernels():
                    pass
                return
            yield LOADED + (1 - LOADED) * (done + 1) / len(names)

    def _avoid(self, source: str) -> bool:
        """Goes on without kernels of matrices that the driver refused; False if they are others."""
        if source == "matmul_matrix.comp":
            self._tiles = ()
        elif source == "matmul_few.comp":
            self._tiles = tuple(tile for tile in self._tiles if tile.takes_parts)
        elif source == "attend_matrices.comp":
            self._attend_device = AttendDevice(self._device.is_cpu)
        else:
            return False
        self._lowering = self._make_lowering()
        return True

    def _start_kernels(self) -> list[str]:
        """Has what the first token needs compiled in other threads. Names of the kernels."""
        names = self._kernels_of_first_token()
        for name in names:
            self._device.compile(name, expand(name))
        return names

    def _set_of(self, number: int, has_slots: bool) -> Any:
        """The uniform set of a weight buffer; every kernel declares the same bindings."""
        found = self._sets.get((number, has_slots))
        if found is None:
            shard = self._shards[number]
            memory = self.slots if has_slots and self.slots is not None else self._paged
            buffers = [shard, shard, *[self._work] * 3, *[memory.buffer] * 2, self._state]
            found = self._device.uniform_set(buffers, self._shared_shader)
            self._sets[number, has_slots] = found
        return found

    def _bind_again(self, *, has_slots: bool) -> None:
        if not has_slots:
            self._lowering = self._make_lowering()  # the cache is somewhere else
        self._tables = {}
        self._sets = {key: kept for key, kept in self._sets.items() if key[1] != has_slots}

    def _recorded_for(self, batch: Batch) -> Recorded:
        """The tape that runs a batch."""
        rows = bucket(len(batch.tokens), self._program.max_rows, self._buckets)
        outputs = len(batch.outputs)
        most = self._program.max_outputs
        outputs = bucket(outputs, most, self._buckets) if outputs else 0
        return rows, outputs, self._adapters.numbers_of(batch)

    def _tape_of(self, batch: Batch) -> Tape:
        return self._tape(*self._recorded_for(batch))

    def _tape(self, rows: int, outputs: int, adapters: tuple[int, ...] = ()) -> Tape:
        return self._adapters.tape(rows, outputs, adapters)

    def _table(self, key: tuple[str, int, int], make: Callable[[], Iterable[Dispatch]]) -> Any:
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = self._device.table(self._rows_of(make()))
        return table

    def _rows_of(self, dispatches: Iterable[Dispatch]) -> list[tuple[Any, ...]]:
        hazards = HazardTracker()
        return [
            (
                self._device.pipeline(dispatch.kernel, expand(dispatch.kernel)),
                self._set_of(dispatch.shard, dispatch.has_slots),
                dispatch.parameters,
                dispatch.groups,
                hazards.add(dispatch.reads, dispatch.writes),
            )
            for dispatch in dispatches
        ]

    def _write_state(
        self, batch: Batch, sampler: Sampler = GREEDY, stops: Collection[int] = ()
    ) -> None:
        """What a run is; and how a kernel that draws tokens itself draws them."""
        tables = [self._paged.table(sequence) for sequence in batch.sequences]
        fill_state(self._state_words, batch, tables or self._paged.table(0), sampler, stops)
        self._device.write(self._state, 0, self._state_bytes, state.ADJUSTED * WORD)
        self._put_gains(batch)
        self._table_rows.put(self._tape_of(batch), batch.tokens)

    def _play(self, dispatches: Iterable[Dispatch]) -> None:
        self._device.play(self._device.table(self._rows_of(dispatches)))

    def _kept_logits(self) -> Tensor:
        if self._logits is None:
            raise ValueError("the last run kept no logits")
        return self._logits

    def _read_floats(self, tensor: Tensor) -> Floats:
        """Activations."""
        size = tensor.rows * tensor.width * WORD
        data = self._device.read_part(self._work, tensor.offset * WORD, size)
        return np.frombuffer(data, np.float32).reshape(tensor.rows, tensor.width)
