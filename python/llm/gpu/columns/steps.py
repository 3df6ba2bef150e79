"""Steps of the columns kernel: a few operations each, for all tokens of a pass.

A step ends where another group must see all of its output.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np

from llm.gpu.columns import words as w
from llm.gpu.kernels.kernel import FORMAT_IDS
from llm.gpu.kernels.resident import MATRIX_LANES
from llm.gpu.operations import (
    Activation,
    Attend,
    CacheStore,
    GatedUnit,
    Rotate,
    Tensor,
    Weight,
)
from llm.gpu.state import NONE
from llm.gpu.steps.attention import NO_TEMPERATURE
from llm.gpu.steps.packing import (
    Locate,
    Words,
    ceil_div,
    float_bits,
    plane_addresses,
    vector_address,
)

TILE_ROWS = 16
STEP_WEIGHTS = 4 * MATRIX_LANES  # of a row, that a team of lanes multiplies at once


@dataclass(slots=True)
class ColumnProduct:
    """One or more matrices times all rows of x, which are normed before where there is a norm."""

    x: Tensor
    weights: list[Weight]
    outputs: list[Tensor]
    norm: Weight | None = None
    eps: float = 0.0
    activation: Activation | None = None  # of the first output, which is multiplied by the second
    adds: bool = False  # to what is in the only output
    biases: list[Weight] = field(default_factory=list)  # of each matrix, or none
    sets: int = 1  # of groups, each of which has a part of k
    stays: bool = False  # the next step does not need what this one leaves
    first_group: int = 0  # of those that run the step
    spans: list[tuple[int, int]] = field(default_factory=list)  # of these, a matrix's: first, count
    parts: int = 0  # the float from which on they leave their sums, if they are several

    @property
    def label(self) -> str:
        sizes = " + ".join(f"{weight.rows} {weight.format}" for weight in self.weights)
        return f"{sizes} x {self.x.width}"

    @property
    def n_groups(self) -> int:
        return sum(count for _, count in self.spans)

    @property
    def k_steps(self) -> int:
        return ceil_div(self.x.width, STEP_WEIGHTS)

    def of_one_format(self) -> "list[ColumnProduct]":
        """The same as steps of matrices of one format each."""
        return self._cut(lambda weight: weight.format.name)

    def one_by_one(self) -> "list[ColumnProduct]":
        """The same as steps of one matrix each, or of both of a gated product."""
        return [self] if self.activation is not None else self._cut(lambda weight: weight.name)

    def _cut(self, key: Callable[[Weight], str]) -> "list[ColumnProduct]":
        """Into runs of matrices of which `key` says the same, side by side."""
        runs = []
        for _, run in groupby(
            range(len(self.weights)), key=lambda number: key(self.weights[number])
        ):
            numbers = list(run)
            part = slice(numbers[0], numbers[-1] + 1)
            runs.append(
                replace(
                    self,
                    weights=self.weights[part],
                    outputs=self.outputs[part],
                    biases=self.biases[part],
                    stays=True,
                )
            )
        runs[-1].stays = self.stays
        return runs

    @property
    def tiles(self) -> list[int]:
        """Of each matrix; a gated product has those of both at once."""
        weights = self.weights[:1] if self.activation is not None else self.weights
        return [ceil_div(weight.rows, TILE_ROWS) for weight in weights]

    def pack(self, locate: Locate) -> Words:
        packed = _step(w.KIND_PRODUCT + FORMAT_IDS[self.weights[0].format.name])
        packed[w.STEP_STAYS] = self.stays
        packed[w.STEP_FIRST_GROUP], packed[w.STEP_GROUPS] = self.first_group, self.n_groups
        packed[w.STEP_X], packed[w.STEP_WIDTH] = self.x.offset, self.x.width
        packed[w.STEP_OUTPUT] = self._output
        packed[w.STEP_ACTIVATION] = int(self.activation or 0)
        packed[w.STEP_EPS] = float_bits(self.eps)
        packed[w.STEP_NORM : w.STEP_NORM + 2] = vector_address(self.norm, locate)
        packed[w.STEP_SETS], packed[w.STEP_PARTS] = self.sets, self.parts
        firsts = slice(w.STEP_SEGMENT + w.SEGMENT_FIRST_GROUP, None, w.SEGMENT_WORDS)
        packed[firsts][: w.MAX_SEGMENTS] = NONE
        for number, (weight, output) in enumerate(zip(self.weights, self.outputs, strict=True)):
            at = w.STEP_SEGMENT + number * w.SEGMENT_WORDS
            packed[at + w.SEGMENT_HEIGHT] = weight.rows
            packed[at + w.SEGMENT_OUT] = output.offset
            planes = at + w.SEGMENT_PLANES
            packed[planes : planes + 8] = plane_addresses(weight, locate)
            if number < len(self.spans):
                span = slice(at + w.SEGMENT_FIRST_GROUP, at + w.SEGMENT_GROUPS + 1)
                packed[span] = self.spans[number]
        for number, bias in enumerate(self.biases):
            at = w.STEP_BIASES + 2 * number
            packed[at : at + 2] = vector_address(bias, locate)
        return packed

    @property
    def _output(self) -> int:
        if self.activation is not None:
            return w.OUTPUT_GATED
        if self.biases:
            return w.OUTPUT_BIASED
        if self.sets > 1:
            return w.OUTPUT_PARTS
        return w.OUTPUT_ADD if self.adds else w.OUTPUT_STORE


@dataclass(slots=True)
class ColumnAdd:
    """The parts of a product are added to the residual stream, normed before if there is a norm."""

    stream: Tensor
    parts: int  # float
    sets: int
    norm: Weight | None = None
    eps: float = 0.0

    label = "add to the residual stream"

    def pack(self, locate: Locate) -> Words:
        packed = _step(w.KIND_ADD)
        packed[w.STEP_X], packed[w.STEP_WIDTH] = self.stream.offset, self.stream.width
        packed[w.STEP_EPS] = float_bits(self.eps)
        packed[w.STEP_NORM : w.STEP_NORM + 2] = vector_address(self.norm, locate)
        packed[w.STEP_SETS], packed[w.STEP_PARTS] = self.sets, self.parts
        return packed


@dataclass(slots=True)
class ColumnGate:
    """A gated unit whose two products have different formats; in place on the gate."""

    unit: GatedUnit

    label = "gate"

    def pack(self, _locate: Locate) -> Words:
        packed = _step(w.KIND_GATE)
        packed[w.STEP_X], packed[w.STEP_WIDTH] = self.unit.gate.offset, self.unit.gate.width
        packed[w.STEP_PARTS] = self.unit.up.offset
        packed[w.STEP_ACTIVATION] = int(self.unit.activation)
        return packed


@dataclass(slots=True)
class ColumnHeads:
    """Heads are rotated and cells stored; or, where it `attends`, the sums over cells follow."""

    q: Rotate
    k: Rotate
    store: CacheStore
    attend: Attend
    attends: bool

    @property
    def label(self) -> str:
        return "attend" if self.attends else "rotate heads, store cells"

    def pack(self, locate: Locate) -> Words:
        packed = _step(w.KIND_ATTEND if self.attends else w.KIND_ROTATE)
        cache = self.store.cache
        packed[w.STEP_Q], packed[w.STEP_K] = self.q.x.offset, self.k.x.offset
        packed[w.STEP_V], packed[w.STEP_OUT] = self.store.v.offset, self.attend.y.offset
        packed[w.STEP_SCALE], packed[w.STEP_EPS] = map(float_bits, (self.q.scale, self.q.eps))
        packed[w.STEP_Q_NORM : w.STEP_Q_NORM + 2] = vector_address(self.q.norm, locate)
        packed[w.STEP_K_NORM : w.STEP_K_NORM + 2] = vector_address(self.k.norm, locate)
        packed[w.STEP_TABLE : w.STEP_TABLE + 2] = vector_address(self.q.table, locate)
        packed[w.STEP_K_CACHE], packed[w.STEP_V_CACHE] = cache.keys, cache.values
        packed[w.STEP_WINDOW], packed[w.STEP_KV_HEADS] = self.attend.window, self.attend.kv_heads
        packed[w.STEP_TURNED] = self.q.table.rows
        packed[w.STEP_IS_ADJACENT] = int(self.q.pairing)
        packed[w.STEP_MAGNITUDE] = float_bits(self.q.magnitude)
        packed[w.STEP_SOFT_CAP] = float_bits(self.attend.soft_cap)
        tuning = self.q.temperature or NO_TEMPERATURE
        packed[w.STEP_TEMPERATURE] = float_bits(tuning.rate)
        packed[w.STEP_TEMPERATURE_LENGTH] = tuning.length
        return packed


ColumnStep = ColumnProduct | ColumnAdd | ColumnGate | ColumnHeads


def is_beside(steps: Sequence[ColumnStep], number: int) -> bool:
    """Whether a step needs nothing of the one before it."""
    before = steps[number - 1] if number else None
    return isinstance(before, ColumnProduct) and before.stays


def share_groups(steps: Sequence[ColumnStep], groups: int) -> list[ColumnStep]:
    """The steps with the groups that run them. Matrices of one input run side by side, each by
    some groups; where there are fewer groups than these, one after the other by all."""
    made: list[ColumnStep] = []
    run: list[ColumnProduct] = []
    for step in steps:
        if not isinstance(step, ColumnProduct):
            made.append(step)
            continue
        run.append(step)
        if step.stays:
            continue
        tiles = [count for product in run for count in product.tiles]
        if len(tiles) > groups:
            run = [each for product in run for each in product.one_by_one()]
            for product in run:
                product.first_group, product.spans = 0, [(0, groups)]
        else:
            _share(run, shared_out(groups, tiles))
        made += run
        run = []
    return made


def _share(run: Sequence[ColumnProduct], counts: Sequence[int]) -> None:
    """Each matrix of the products gets as many groups."""
    left, first = list(counts), 0
    for product in run:
        product.first_group, product.spans = first, []
        for count in left[: len(product.tiles)]:
            product.spans.append((first - product.first_group, count))
            first += count
        del left[: len(product.tiles)]


def shared_out(groups: int, tiles: Sequence[int]) -> list[int]:
    """How many of so many groups each matrix has, at least one, so that the most tiles that a
    group has are few: the next group goes where there are the most."""
    counts = [1] * len(tiles)
    for _ in range(groups - len(tiles)):
        at = max(range(len(tiles)), key=lambda number: tiles[number] / counts[number])
        counts[at] += 1
    return counts


def _step(kind: int) -> Words:
    packed = np.zeros(w.STEP_WORDS, np.uint32)
    packed[w.STEP_KIND], packed[w.STEP_GROUPS] = kind, NONE
    return packed
