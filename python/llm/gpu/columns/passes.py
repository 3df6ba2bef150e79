"""Passes of 2 to 16 tokens whose layers run in one dispatch, on devices whose matrices allow it.

The embedding before the layers and the head after them stay dispatches of their own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from llm.errors import DeviceError
from llm.gpu.columns import words as w
from llm.gpu.columns.fusion import ColumnLayers, fuse_columns
from llm.gpu.columns.steps import ColumnStep, is_beside, share_groups
from llm.gpu.device.matrices import has_fragments
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.dispatch.dispatches import Scratch
from llm.gpu.kernels.kernel import Kernel
from llm.gpu.kernels.resident import (
    MATRIX_LANES,
    RESIDENT_SUBGROUPS,
    columns_kernel,
    columns_shared_bytes,
)
from llm.gpu.kernels.shader_source import expand_kernel
from llm.gpu.kernels.variants import pack_params
from llm.gpu.steps.attention import lane_cells
from llm.gpu.steps.errors import NoStepError
from llm.gpu.steps.packing import Locate, Words, ceil_div
from llm.gpu.steps.residency import PROBE_SPINS, PROBE_STEPS, SPINS
from llm.gpu.steps.step_sizes import StepSizes
from llm.gpu.tape import Tape

SUBGROUP_SIZE = MATRIX_LANES  # threads; software drivers have others
MOST_CELLS = 4096  # that a token sees: operations share more among more groups
COLUMNS = (8, 16)  # of the kernels: rows that a tape is recorded for
MOST_SLICE = {8: 2, 16: 1}  # steps of k that a team can keep of so many columns in registers
APART_GROUPS = 128  # of a dispatch of one step: about as many as a large GPU has multiprocessors

Row = tuple[Any, ...]  # a dispatch
Bind = Callable[[Words, Any], tuple[Any, Any]]  # (steps, shader) -> a buffer of them, a set
# (groups -> a dispatch of PROBE_STEPS barriers) -> how many groups meet at them
Reside = Callable[[Callable[[int], Row]], int]
# steps -> a buffer of them, and their dispatches: one of all, or one of each
Play = Callable[[Sequence[ColumnStep]], tuple[Any, list[Row]]]


@dataclass(frozen=True, slots=True)
class ColumnPass:
    """A recorded pass: its steps stand on the device."""

    layers: ColumnLayers
    play: Play
    steps: Any  # the buffer of the layers' steps
    rows: list[Row]  # dispatches of them
    is_resident: bool


class ColumnPasses:
    """Those of one program. `tape(rows)` records a pass; parts of sums go to `scratch`."""

    def __init__(
        self,
        device: RenderingDevice,
        sizes: StepSizes,
        tape: Callable[[int], Tape],
        scratch: Scratch,
    ) -> None:
        self._device = device
        self._sizes = sizes
        self._tape = tape
        self._scratch = scratch
        self._sources: dict[int, tuple[str, str]] = {}  # by columns: the kernel's name and GLSL
        self._group_steps: dict[int, int] = {}  # of k, that a group keeps of a column
        self._passes: dict[int, ColumnPass | None] = {}

    def start(self, most_rows: int) -> None:
        """Has the kernels compiled in other threads; none where device or model are not fit."""
        if not has_fragments(self._device) or not self._device.has_addresses:
            return
        for columns in COLUMNS:
            kernel = self._kernel(columns) if columns <= most_rows else None
            if kernel is not None:
                name = f"columns {sorted(kernel.defines.items())}"
                self._sources[columns] = name, expand_kernel(kernel)
                self._device.compile(*self._sources[columns])

    def find(self, rows: int, locate: Locate, bind: Bind, reside: Reside) -> ColumnPass | None:
        """The pass of that many recorded rows; None where there is none, or not yet."""
        if rows not in self._passes:
            if rows not in self._sources or not self._device.is_compiled(self._sources[rows][0]):
                return None
            try:
                self._passes[rows] = self._make(rows, locate, bind, reside)
            except (DeviceError, NoStepError):
                self._passes[rows] = None  # operations, then
        return self._passes[rows]

    def drop(self) -> None:
        """Those that were found; they may be made again, for as many groups as there are then."""
        buffers = [made.steps for made in self._passes.values() if made is not None]
        if buffers:
            self._device.free(*buffers)  # and with them their sets
        self._passes = {}

    def _kernel(self, columns: int) -> Kernel | None:
        try:
            layers = fuse_columns(self._tape(columns))
        except NoStepError:
            return None
        if len(self._sizes.head_sizes) > 1 or len(self._sizes.groups_of_heads) > 1:
            return None
        size = self._sizes.head_size
        teams = RESIDENT_SUBGROUPS * SUBGROUP_SIZE // MATRIX_LANES
        slice_steps = ceil_div(layers.whole_steps, teams)
        is_small = slice_steps <= MOST_SLICE[columns]
        if not is_small or size & (size - 1) or size < 2 * SUBGROUP_SIZE:
            return None
        if layers.part_floats(slice_steps * teams, columns) > self._scratch.size:
            return None
        together = self._sizes.together
        shared = columns_shared_bytes(
            columns=columns, subgroup_size=SUBGROUP_SIZE, head_size=size, together=together
        )
        if shared > self._device.shared_memory:
            return None
        self._group_steps[columns] = slice_steps * teams
        return columns_kernel(
            columns=columns,
            slice_steps=slice_steps,
            subgroup_size=SUBGROUP_SIZE,
            head_size=size,
            group_heads=self._sizes.group_heads,
            together=together,
            lane_cells=lane_cells(size),
            formats=layers.formats,
        )

    def _make(self, rows: int, locate: Locate, bind: Bind, reside: Reside) -> ColumnPass:
        layers = fuse_columns(self._tape(rows))
        layers = layers.share_k(self._group_steps[rows], self._scratch.start)
        pipeline = self._device.pipeline(*self._sources[rows])
        shader = self._device.shader(self._sources[rows][0])
        groups = self._count_groups(pipeline, shader, bind, reside)
        is_resident = groups > 0
        groups = groups or APART_GROUPS
        if groups < layers.most_sets:
            raise NoStepError(f"{groups} groups for a product by {layers.most_sets} sets of them")
        layers = replace(layers, steps=share_groups(layers.steps, groups))

        def play(steps: Sequence[ColumnStep]) -> tuple[Any, list[Row]]:
            buffer, uniform_set = bind(np.stack([step.pack(locate) for step in steps]), shader)
            count = len(steps)
            spans = [(0, count)] if is_resident else [(at, at + 1) for at in range(count)]
            return buffer, [
                _row(pipeline, uniform_set, groups, span, is_ordered=not is_beside(steps, span[0]))
                for span in spans
            ]

        return ColumnPass(layers, play, *play(layers.steps), is_resident)

    def _count_groups(self, pipeline: Any, shader: Any, bind: Bind, reside: Reside) -> int:
        words = np.zeros((PROBE_STEPS + 1, w.STEP_WORDS), np.uint32)
        nothing, uniform_set = bind(words, shader)
        span = (0, PROBE_STEPS + 1)  # no barrier follows the last one

        def barriers(groups: int) -> Row:
            return _row(pipeline, uniform_set, groups, span, spins=PROBE_SPINS)

        try:
            return reside(barriers)
        finally:
            self._device.free(nothing)  # and with it the set


def _row(
    pipeline: Any,
    uniform_set: Any,
    groups: int,
    span: tuple[int, int],
    *,
    spins: int = SPINS,
    is_ordered: bool = True,
) -> Row:
    """A dispatch of the steps from the first of `span` up to its second."""
    parameters = pack_params("columns_8", first=span[0], end=span[1], spins=spins)
    return pipeline, uniform_set, parameters, (groups, 1, 1), is_ordered
