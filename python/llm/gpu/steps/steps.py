"""Steps of the steps kernel: fused operations of a tape, packed as step_words.glslh has them.

A step ends where another must see all of its output: five of them make a dense layer. What steps of
one kind have in common is compiled: `case` is the kind's GLSL, equal for equal kinds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import groupby

import numpy as np

from llm.files.repack import plane_words
from llm.gpu.operations import Activation, Tensor, Weight
from llm.gpu.steps.attention import Attention, Join
from llm.gpu.steps.experts import Experts
from llm.gpu.steps.packing import (
    STEP_WORDS,
    SUBGROUPS,
    Grid,
    Locate,
    Words,
    ceil_div,
    float_bits,
    glsl_float,
    literal,
    offset_of,
    plane_addresses,
    vector_address,
)

X, Y, X_OUT, STAYS, TAGS, COPIES = 1, 2, 3, 54, 55, 56
SEGMENT, SEGMENT_WORDS, EMBEDDING = 10, 12, 46
BIAS, BIAS_PLACES = 8, 61
AHEAD, AHEAD_LINES = 18, 20
NEXT, NEXT_STRIDE, NEXT_END = 57, 59, 60
WITH, CAP, FACTOR = 61, 62, 62
MAX_SEGMENTS = 3
PART_WEIGHTS = 32
WORD = 4  # bytes
PASS_PARTS = 2  # what the end of a pass costs, in parts
LEAST_SHIFT = 2
WIDE_SHIFT = 4
NARROW = 0.12  # what each halving of the lanes below 2^WIDE_SHIFT adds to the cost of a pass
STREAMED = ("q4_k",)  # formats of which the next rows are loaded early; others are slower then
STREAM_ROUNDS = 2  # where a subgroup has as many passes
WIDE_UNITS = ("q4_k",)  # formats of which a lane takes two parts at once


class Prologue(IntEnum):
    """How the input of a product is made, before its norm, where it has one."""

    PLAIN = 0
    EMBED = 1
    NORM = 2
    ADD_NORM = 3  # x + y normed
    GATED = 4


class Epilogue(IntEnum):
    """What becomes of its output."""

    STORE = 0
    GATED = 1
    BEST = 2
    ADD = 3
    BIASED = 4
    CAPPED = 5
    GATED_WITH = 6  # the only product is the gate, of what is there already
    GATED_BIASED = 7
    ADD_BIASED = 8
    ADD_SHARES = 9  # biases of experts by their shares


GATED = (Epilogue.GATED, Epilogue.GATED_BIASED)  # of two matrices
ADDED = (Epilogue.ADD, Epilogue.ADD_BIASED, Epilogue.ADD_SHARES)  # to what is there
LOGITS = (Epilogue.BEST, Epilogue.CAPPED)  # of the product that makes them


@dataclass(frozen=True, slots=True)
class RowPlan:
    """2^`lanes_shift` lanes share a row, and multiply `rows` rows at once."""

    lanes_shift: int
    rows: int
    passes: tuple[int, ...]  # of each matrix


def narrow_factor(lanes_shift: int) -> float:
    """What passes cost more because few lanes read too few bytes next to each other."""
    return 1 + NARROW * max(0, WIDE_SHIFT - lanes_shift)


def plan_rows(
    heights: Sequence[int], width: int, grid: Grid, *, unit_parts: int, is_gated: bool
) -> RowPlan:
    """The plan by which the busiest lane multiplies fewest weights.

    All lanes on one row read best, but leave many idle at the end of short rows; few lanes read too
    few bytes next to each other; two rows at once read the input half as often, but leave subgroups
    without work where rows are few.
    """
    n_units = width // (PART_WEIGHTS * unit_parts)
    best: tuple[float, RowPlan] | None = None
    for rows in (2,) if is_gated else (2, 1):
        for shift in reversed(range(LEAST_SHIFT, grid.subgroup_size.bit_length())):
            of_pass = (grid.subgroup_size >> shift) * (1 if is_gated else rows)
            passes = tuple(ceil_div(height, of_pass) for height in heights)
            total = passes[0] if is_gated else sum(passes)
            rounds = ceil_div(total, grid.groups * SUBGROUPS)
            parts = rows * ceil_div(n_units, 1 << shift) * unit_parts + PASS_PARTS
            cost = rounds * parts * narrow_factor(shift)
            if best is None or cost < best[0]:
                best = cost, RowPlan(shift, rows, passes)
    assert best is not None
    return best[1]


@dataclass(slots=True)
class Product:
    """One or more matrices times one vector."""

    prologue: Prologue
    width: int  # K
    weights: list[Weight]
    outputs: list[Tensor]
    epilogue: Epilogue = Epilogue.STORE
    x: Tensor | None = None
    y: Tensor | None = None  # normed by `post_norm` and added to x; or the input of a gate
    x_out: Tensor | None = None  # where x + y, or the embedding, is kept
    norm: Weight | None = None
    post_norm: Weight | None = None
    eps: float = 0.0
    embedding: Weight | None = None
    scale: float = 1.0  # of the embedding, of a sum, or of the shares of experts
    activation: Activation = Activation.GELU  # of a gated prologue or epilogue
    biases: list[Weight] = field(default_factory=list)  # of each matrix, or none
    logit_scale: float = 1.0
    logit_cap: float = 0.0  # soft; or 0
    experts: Experts | None = None  # whose matrices these are
    gated: Tensor | None = None  # what is there already
    start: int = 0  # the first column that it multiplies, of those of its input
    slice_width: int = 0  # of the widest step where there are several for one input; or 0

    meets = False  # all read what it leaves in the next step

    @property
    def label(self) -> str:
        """Equal for steps that do the same on matrices of the same sizes and formats."""
        sizes = " + ".join(
            f"{height} {weight.format}"
            for height, weight in zip(self._heights, self.weights, strict=True)
        )
        sizes += "" if self.experts is None else " of experts"
        return f"{self.prologue.name}, {sizes} x {self.width}, {self.epilogue.name}".lower()

    def case(self, grid: Grid) -> str:
        """GLSL that runs steps of this kind."""
        plan = self._plan(grid)
        sizes = f"{self.width}u, {plan.lanes_shift}u, {plan.rows}u"
        lines = []
        if self.experts is not None:
            lines.append(self.experts.call)
        if self.embedding is not None:
            lines.append(f"embed_row_{self.embedding.format.name}(token, {self.width}u);")
        is_gated = literal(self.epilogue in GATED)
        for number, (_, start, end) in enumerate(self._runs()):
            lines.append(f"const Share share_{number} = next_share({start}u, {end}u, {is_gated});")
        lines.append(f"const float scale = {self._input_call()}")
        lines.append("Best best = NO_BEST;")
        rounds = ceil_div(sum(self.passes(grid)), grid.groups * SUBGROUPS)
        factor = "scale"
        if self.logit_scale != 1.0:
            factor += f" * {glsl_float(self.logit_scale)}"
        what = f"OUTPUT_{self.epilogue.name}, {int(self.activation)}u"
        for number, (name, _, end) in enumerate(self._runs()):
            streams = literal(name in STREAMED and rounds >= STREAM_ROUNDS)
            arguments = f"{end}u, {factor}, {sizes}, {what}, {streams}"
            rows = (self.matrices(name) or name).replace(":", "_")
            lines.append(f"multiply_{rows}(share_{number}, {arguments}, best);")
        if self.epilogue in LOGITS:
            lines.append("leave_best(best);")
        return " ".join(lines)

    def pack(self, kind: int, locate: Locate, grid: Grid, groups: int) -> Words:
        """For a kernel whose cases were made for `grid`, with so many groups running it."""
        words = np.zeros(STEP_WORDS, np.uint32)
        words[:4] = (kind, *map(offset_of, (self.x, self.y, self.x_out)))
        words[X] += self.start
        if self.prologue is Prologue.GATED:
            words[Y] += self.start
        words[4:6] = (float_bits(self.eps), float_bits(self.scale))
        words[6:10] = (*vector_address(self.norm, locate), *vector_address(self.post_norm, locate))
        if self.epilogue is Epilogue.CAPPED:
            words[CAP] = float_bits(self.logit_cap)
        if self.gated is not None:
            words[WITH] = self.gated.offset
        if self.biases:
            first = min(self.biases, key=lambda bias: locate(bias)[0])
            words[BIAS : BIAS + 2] = vector_address(first, locate)
            places = [(locate(bias)[0] - locate(first)[0]) // WORD for bias in self.biases]
            words[BIAS_PLACES : BIAS_PLACES + len(places)] = places
        before = 0
        passes = self._plan(grid).passes
        for number, (weight, output) in enumerate(zip(self.weights, self.outputs, strict=True)):
            start = SEGMENT + number * SEGMENT_WORDS
            height = self._heights[number]
            words[start : start + 4] = (height, output.offset, passes[number], before)
            words[start + 4 : start + SEGMENT_WORDS] = plane_addresses(weight, locate)
            before = (before + passes[number]) % (groups * SUBGROUPS)
        if self.embedding is not None:
            words[EMBEDDING : EMBEDDING + 8] = plane_addresses(self.embedding, locate)
        return words

    @property
    def is_whole(self) -> bool:
        """Whether it multiplies all of its matrices."""
        return self.experts is None and not self.slice_width

    @property
    def is_last_slice(self) -> bool:
        """Whether its outputs are whole: no other step adds its columns to them."""
        return not self.slice_width or self.start + self.width == self.weights[0].columns

    def matrices(self, format: str) -> str | None:
        """What the kernel has to know of matrices of which it does not multiply whole rows."""
        if self.experts is not None:
            return self.experts.matrices(format)
        return f"{format}:{self.weights[0].columns}:{self.start}" if self.slice_width else None

    def passes(self, grid: Grid) -> tuple[int, ...]:
        """That the rows of each matrix take; of a gated step those of both at once."""
        passes = self._plan(grid).passes
        return passes[:1] if self.epilogue in GATED else passes

    def first_plane(self, grid: Grid) -> tuple[int, int]:
        """Of the first matrix, in words: what a pass reads, and all of it."""
        weight, plan = self.weights[0], self._plan(grid)
        at_once = 1 if self.epilogue in GATED else plan.rows
        rows = at_once * (grid.subgroup_size >> plan.lanes_shift)
        of_pass, of_all = (
            plane_words(weight.format, count * self.width)[0] for count in (rows, weight.rows)
        )
        return of_pass, of_all

    @property
    def _heights(self) -> list[int]:
        if self.experts is not None:
            return [self.experts.height] * len(self.weights)
        return [weight.rows for weight in self.weights]

    def _plan(self, grid: Grid) -> RowPlan:
        wide = any(weight.format.name in WIDE_UNITS for weight in self.weights)
        return plan_rows(
            self._heights,
            self.slice_width or self.width,  # one plan for all slices: each adds to its own rows
            grid,
            unit_parts=2 if wide else 1,
            is_gated=self.epilogue in GATED,
        )

    def _runs(self) -> list[tuple[str, int, int]]:
        """Segments of one format next to each other: its name, the first, the end."""
        if self.epilogue in GATED:
            return [(self.weights[0].format.name, 0, 1)]
        runs = []
        for name, run in groupby(enumerate(self.weights), lambda item: item[1].format.name):
            numbers = [number for number, _ in run]
            runs.append((name, numbers[0], numbers[-1] + 1))
        return runs

    def _input_call(self) -> str:
        if self.prologue is Prologue.PLAIN:
            of_expert = 0 if self.experts is None else self.experts.width
            return f"plain_input({self.width}u, {of_expert}u);"
        if self.prologue is Prologue.GATED:
            return f"gated_input({self.width}u, {int(self.activation)}u);"
        kind = {Prologue.EMBED: "EMBED", Prologue.NORM: "NORM", Prologue.ADD_NORM: "ADD"}
        is_scaled = self.prologue is Prologue.ADD_NORM and self.scale != 1.0
        flags = f"{literal(self.norm is not None)}, {literal(is_scaled)}"
        return f"normed_input({self.width}u, INPUT_{kind[self.prologue]}, {flags});"


@dataclass(slots=True)
class NormParts:
    """y = factor * (scale * the token's row of a table + x normed by parts).

    A table in RAM is not read: the host has put its row, scaled, where y is.
    """

    x: Tensor
    y: Tensor
    norm: Weight
    eps: float
    n_parts: int
    table: Weight
    scale: float
    factor: float
    is_in_ram: bool

    meets = True  # steps to come read parts of y each
    label = "norm parts"

    @property
    def format(self) -> str:
        return "f32" if self.is_in_ram else self.table.format.name

    def case(self, _grid: Grid) -> str:
        """GLSL that runs steps of this kind."""
        row = "0u" if self.is_in_ram else "token"
        return f"embed_row_{self.format}({row}, {self.x.width}u, {self.n_parts}u);"

    def pack(self, kind: int, locate: Locate, _grid: Grid, _groups: int) -> Words:
        """As of a Product."""
        words = np.zeros(STEP_WORDS, np.uint32)
        words[:3] = (kind, self.x.offset, self.y.offset)
        scale = self.factor * (1.0 if self.is_in_ram else self.scale)
        words[4:6] = (float_bits(self.eps), float_bits(scale))
        words[6:8] = vector_address(self.norm, locate)
        words[EMBEDDING : EMBEDDING + 8] = plane_addresses(self.table, locate)
        words[FACTOR] = float_bits(self.factor)
        return words


@dataclass(frozen=True, slots=True)
class Pick:
    """What follows the logits where tokens are picked on the device."""

    label: str
    function: str
    stays: bool  # no group needs what another does there

    meets = False

    def case(self, _grid: Grid) -> str:
        """GLSL that runs steps of this kind."""
        return f"{self.function}();"

    def pack(self, kind: int, _locate: Locate, _grid: Grid, _groups: int) -> Words:
        """As of a Product."""
        words = np.zeros(STEP_WORDS, np.uint32)
        words[0], words[STAYS] = kind, self.stays
        return words


LIKELIEST = (Pick("pick the likeliest", "take_best", stays=True),)
DRAWN = (
    Pick("list what may be drawn", "list_samples", stays=False),
    Pick("draw", "draw_sample", stays=True),
)

Step = Product | NormParts | Attention | Join | Pick
