"""One token as fused steps: five dispatches a layer where the operations would be seventeen.

Steps read the weights through their device addresses, so that a model may have any number of weight
buffers. Prompts, and models or devices that the steps do not fit, run an operation a dispatch.
"""

import sys
from collections.abc import Callable, Generator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from llm.errors import DeviceError
from llm.files.model_file import ModelFile
from llm.gpu import state
from llm.gpu.columns.passes import COLUMNS, MOST_CELLS, ColumnPass, ColumnPasses, Row
from llm.gpu.device.probes import probe
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.dispatch.executor import DispatchExecutor
from llm.gpu.fused.inspection import StepInspection
from llm.gpu.fused.runs import FIRST_RUNS, RUNS, ordered
from llm.gpu.fused.step_list import StepList
from llm.gpu.kernels.kernel import Kernel
from llm.gpu.kernels.shader_source import expand_kernel
from llm.gpu.kernels.variants import pack_params
from llm.gpu.operations import Embed, Tensor, Weight
from llm.gpu.program import WORD, Batch, Floats, Program, not_finite
from llm.gpu.steps.ahead import load_ahead
from llm.gpu.steps.attention import Attention, Join
from llm.gpu.steps.fusion import fuse
from llm.gpu.steps.packing import STEP_WORDS, Grid, Words
from llm.gpu.steps.step_sizes import sizes_or_none
from llm.gpu.steps.steps import Step
from llm.gpu.steps.tags import NO_PLACES
from llm.gpu.tape import Tape

STEP_GROUPS = 128  # of a dispatch of one step: about as many as a large GPU has multiprocessors
ALONE, TOKENS, DRAWN_TOKENS = "steps alone", "tokens", "drawn tokens"  # tables of steps
COLUMN_PASS = "a pass of columns"


class FusedExecutor(StepInspection):
    """See `Executor`. As good as a dispatch executor where steps do not fit."""

    _picks: Sequence[Sequence[Step]] = ((),)  # what may follow a token's steps

    def __init__(self, program: Program, device: RenderingDevice) -> None:
        self._sizes = sizes_or_none(program.record(1, 1), program.names_in_ram)
        super().__init__(program, device, self._sizes.scratch_floats if self._sizes else 0)
        self._grid: Grid | None = None  # that the kernel was made for
        self._groups = 0  # that run a step; 0: no steps
        self._cases: list[str] = []
        self._source: tuple[str, str] | None = None  # the kernel's name and GLSL
        self._is_behind = False  # the steps were not compiled when the model was loaded
        self._pipeline: Any = None
        self._shader: Any = None
        self._addresses: list[int] = []  # of the weight buffers
        self._steps: list[Step] = []
        self._far_steps: list[Step] = []  # for positions from `_far_from` on
        self._far_from = sys.maxsize
        self._passes: ColumnPasses | None = None
        self._lists: list[StepList] = []  # a token's steps with each of the picks, then far ones

    @classmethod
    def load(
        cls,
        program: Program,
        file: ModelFile,
        device: RenderingDevice,
        patience: float | None = None,
    ) -> Generator[float, None, DispatchExecutor]:
        """Where the steps take longer to compile than `patience` in seconds, tokens run an
        operation a dispatch until they are there; None waits for them."""
        executor = yield from super().load(program, file, device)
        assert isinstance(executor, FusedExecutor)
        executor.runs_ahead = 1 if device.is_cpu or executor._table_rows else FIRST_RUNS
        try:
            if patience is None or executor._is_compiled(patience):
                executor._prepare()
            else:
                executor._is_behind = True
        except BaseException:
            executor.close()
            raise
        return executor

    def run(self, batch: Batch) -> None:
        self._catch_up()
        found = self._pass_of(batch)
        if found is not None:
            self._play_pass(batch, found)
            return
        if not self._runs_as_steps(batch):
            super().run(batch)
            return
        self._logits = self._tape(1, 1).logits
        self._write_state(batch)
        self._play_steps(self._is_far(batch.positions[0]))

    def _steps_of(self, batch: Batch) -> list[Step]:
        return self._far_steps if self._is_far(batch.positions[0]) else self._steps

    def _runs_as_steps(self, batch: Batch) -> bool:
        """Whether it is a token, without adapters."""
        is_one = len(batch.tokens) == len(batch.outputs) == 1
        return self._groups > 0 and is_one and not self._adapters.gains_of(batch)

    def _read_floats(self, tensor: Tensor) -> Floats:
        """NumericError where a step met NaN or infinity: integers hide them from the logits."""
        if self._read_state()[state.NON_FINITE]:
            raise not_finite("some")
        return super()._read_floats(tensor)

    def _start_kernels(self) -> list[str]:
        kernel = self._kernel()
        if kernel is not None:
            self._source = f"steps {sorted(kernel.defines.items())}", expand_kernel(kernel)
            self._device.compile(*self._source)  # the longest of all
        names = super()._start_kernels()
        if kernel is not None:
            self._passes = self._start_passes()  # the first token does not need them
        return names

    def _start_passes(self) -> ColumnPasses:
        assert self._sizes is not None
        passes = ColumnPasses(
            self._device, self._sizes, lambda rows: self._tape(rows, 1), self._scratch
        )
        passes.start(self._program.max_rows)
        return passes

    def _kernel(self) -> Kernel | None:
        """The kernel that runs the steps, which are then known; None where the device has none."""
        if self._sizes is None or not self._device.has_addresses:
            return None
        size = probe(self._device, "probe_subgroups")
        if size == 0:
            return None
        self._grid = Grid(STEP_GROUPS, size)
        names = self._program.names_in_ram
        self._steps = fuse(self._tape(1, 1), self._sizes.scratch(self._scratch.start), names)
        self._far_steps = []
        for step in self._steps:
            if isinstance(step, Attention):
                self._far_steps += step.for_many_cells(self._grid)
            else:
                self._far_steps.append(step)
        steps = (*self._steps, *self._far_steps, *chain(*self._picks))
        self._cases = list(dict.fromkeys(step.case(self._grid) for step in steps))
        return self._sizes.kernel(
            size,
            self._device.shared_memory,
            self._cases,
            context=self._program.context,
            has_integer_dot=probe(self._device, "probe_integer_dot") == 1,
        )

    def _is_compiled(self, patience: float = 0.0) -> bool:
        return self._source is None or self._device.is_compiled(self._source[0], patience)

    def _catch_up(self) -> None:
        """Goes over to steps as soon as they are compiled, if the device has memory for them."""
        if self._is_behind and self._is_compiled():
            self._is_behind = False
            try:
                self._prepare()
            except DeviceError:
                self._drop_steps()

    def _drop_steps(self) -> None:
        """Operations only, from here on."""
        self._drop_passes()
        self._free_lists()
        self._groups = 0

    def _prepare(self) -> None:
        """Packs the steps."""
        if self._source is None:
            return
        try:
            self._pipeline = self._device.pipeline(*self._source)
        except DeviceError:
            return  # a driver that cannot make it still runs operations
        self._shader = self._device.shader(self._source[0])
        self._addresses = [self._device.address(shard) for shard in self._shards]
        self._use_groups(STEP_GROUPS)

    def _packed(self, steps: Sequence[Step]) -> list[Words]:
        assert self._grid is not None
        grid, groups = self._grid, self._groups
        packed = [
            step.pack(1 + self._cases.index(step.case(grid)), self._locate, grid, groups)
            for step in steps
        ]
        load_ahead(steps, packed, self._locate, grid)
        return packed

    def _use_groups(self, groups: int) -> None:
        """Packs the steps for so many groups."""
        self._groups = groups
        self._free_lists()
        for steps in (self._steps, self._far_steps):
            for picks in self._picks:
                made = self._list_of(steps, self._packed((*steps, *picks)))
                self._lists.append(made)
                self._buffers.append(made.buffer)
        changed = [step.of.few_cells for step in self._far_steps if isinstance(step, Join)]
        self._far_from = max(changed, default=sys.maxsize)

    def _free_lists(self) -> None:
        for steps in self._lists:
            self._buffers.remove(steps.buffer)
            self._device.free(steps.buffer)  # and with it its set
        self._lists = []
        for key in [key for key in self._tables if key[0] in (ALONE, TOKENS, DRAWN_TOKENS)]:
            del self._tables[key]

    def _is_far(self, position: int) -> bool:
        """Whether a token there sees so many cells that the other steps are quicker."""
        return position >= self._far_from

    def _list_of(self, _steps: Sequence[Step], packed: list[Words]) -> StepList:
        """A token's steps, and what follows them, on the device."""
        return self._upload_steps(np.stack(packed))

    def _locate(self, weight: Weight) -> list[int]:
        placement = self._layout.placements.get(weight.name)
        if placement is None:  # a table in RAM, whose row lies where the tape has it
            tape = self._tape(1, 1)
            [at] = [op.y for op in tape.operations if isinstance(op, Embed) and op.weight == weight]
            return [self._device.address(self._work) + at.offset * WORD]
        return [self._addresses[placement.shard] + plane * WORD for plane in placement.planes]

    def _upload_steps(self, words: Words) -> StepList:
        return StepList(*self._bind(words, self._shader), len(words))

    def _bind(self, words: Words, shader: Any) -> tuple[Any, Any]:
        """A buffer of steps, and the uniform set for a kernel that runs them."""
        steps = self._device.buffer(words.nbytes, "the steps")
        data = self._device.staging(words.nbytes)
        data.view()[:] = words.tobytes()
        self._device.write(steps, 0, data, words.nbytes)
        shard = self._shards[0]
        bindings = [shard, shard, *[self._work] * 3, *[self._paged.buffer] * 2, self._state, steps]
        return steps, self._device.uniform_set(bindings, shader)

    def grow(self, pages: int) -> None:
        self._drop_passes()
        super().grow(pages)
        if self._groups:
            self._use_groups(self._groups)

    def _drop_passes(self) -> None:
        for key in [key for key in self._tables if key[0] in (COLUMN_PASS, RUNS)]:
            del self._tables[key]
        if self._passes is not None:
            self._passes.drop()

    def close(self) -> None:
        self._drop_passes()
        super().close()

    def _pass_of(self, batch: Batch) -> ColumnPass | None:
        rows, outputs, adapters = self._recorded_for(batch)
        is_fit = rows in COLUMNS and len(batch.tokens) > 1 and outputs > 0 and not adapters
        is_near = max(batch.positions) < MOST_CELLS
        if self._passes is None or not self._groups or not is_fit or not is_near:
            return None
        return self._passes.find(rows, self._locate, self._bind, self._reside)

    def _reside(self, _barriers: Callable[[int], Row]) -> int:
        """How many groups of a kernel meet at barriers; 0: each of its steps is a dispatch."""
        return 0

    def _play_pass(self, batch: Batch, found: ColumnPass) -> None:
        rows, outputs, _ = self._recorded_for(batch)
        tape = self._tape(rows, outputs)
        self._logits = tape.logits
        self._write_state(batch)
        key = (COLUMN_PASS, rows, outputs)
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = self._device.table(self._rows_of_pass(tape, found))
        self._device.play(table)

    def _rows_of_pass(self, tape: Tape, found: ColumnPass) -> list[Row]:
        head = tape.operations[-len(found.layers.after) :]  # for so many outputs
        before, after = (
            self._rows_of(self._lowering.lower(operations))
            for operations in (found.layers.before, head)
        )
        return [*before, *found.rows, *ordered(after)]

    def _forward(self, batch: Batch) -> list[Row]:
        found = self._pass_of(batch)
        if found is None:
            return super()._forward(batch)
        return self._rows_of_pass(self._tape(*self._recorded_for(batch)), found)

    def _play_steps(self, is_far: bool) -> None:
        key = (ALONE, 1, int(is_far))
        table = self._tables.get(key)
        if table is None:
            steps = self._lists[is_far * len(self._picks)]
            count = len(self._far_steps if is_far else self._steps)
            rows = self._rows_of_steps(steps)[:count]
            table = self._tables[key] = self._device.table(rows)
        self._device.play(table)

    def _rows_of_steps(self, steps: StepList) -> list[tuple[Any, ...]]:
        """A dispatch for each step; each waits for the one before it."""
        return [
            self._row_of(steps, 1, self._groups, 0, first=number) for number in range(steps.count)
        ]

    def _row_of(
        self, steps: StepList, n_tokens: int, groups: int, spins: int, *, first: int = state.NONE
    ) -> tuple[Any, ...]:
        """A dispatch of the kernel; of one step where `first` is given."""
        assert self._sizes is not None
        logits = self._tape(1, 1).logits
        assert logits is not None
        places = steps.places if first == state.NONE else NO_PLACES  # one step waits for nobody
        maxima, candidates = self._sizes.sample_lists(self._scratch.start)
        parameters = pack_params(
            "steps",
            n_steps=steps.count,
            first=first,
            n_tokens=n_tokens,
            spins=spins,
            best=self._sizes.best(self._scratch.start),
            logits=logits.offset,
            vocabulary=logits.width,
            maxima=maxima,
            list=candidates,
            places=places.first,
            n_places=places.count,
            part_places=places.first_part,
            n_part_places=places.n_parts,
        )
        is_ordered = first not in (0, state.NONE)
        return self._pipeline, steps.uniform_set, parameters, (groups, 1, 1), is_ordered


def nothing_steps(count: int) -> Words:
    """Steps that are only their barrier."""
    return np.zeros((count, STEP_WORDS), np.uint32)
