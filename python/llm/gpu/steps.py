"""Steps of the steps kernel: fused operations of a tape, packed as step_words.glslh has them.

A step ends where another must see all of its output: five of them make a dense layer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from llm.gpu.operations import Activation, CacheSlab, Pairing, Tensor, Weight
from llm.gpu.state import NONE

STEP_WORDS = 72
NOTHING = 2  # kind of a step that is only its barrier
SEGMENT, SEGMENT_WORDS, EMBEDDING = 18, 13, 57  # words
MAX_SEGMENTS = 3
SUBGROUPS = 16  # of a group
PART_WEIGHTS = 32

Words = NDArray[np.uint32]
Locate = Callable[[Weight], Sequence[int]]  # a weight -> the device addresses of its planes


class Prologue(IntEnum):
    """How the input of a product is made."""

    PLAIN = 0
    EMBED = 1
    NORM = 2
    ADD_NORM = 3
    GATED = 4


class Epilogue(IntEnum):
    """What becomes of its output."""

    STORE = 0
    GATED = 1
    BEST = 2


@dataclass(frozen=True, slots=True)
class Grid:
    """The groups that share a step, and the threads of their subgroups (a power of two)."""

    groups: int
    subgroup_size: int


@dataclass(frozen=True, slots=True)
class RowPlan:
    """2^`lanes_shift` lanes share a row, and multiply `rows` rows at once."""

    lanes_shift: int
    rows: int
    passes: tuple[int, ...]  # of each matrix


def plan_rows(heights: Sequence[int], width: int, grid: Grid, *, is_gated: bool) -> RowPlan:
    """The plan by which the busiest lane multiplies fewest weights.

    All lanes on one row read best, but leave many idle at the end of short rows; two rows at once
    read the input half as often, but leave subgroups without work where rows are few.
    """
    n_parts = width // PART_WEIGHTS
    best: tuple[int, RowPlan] | None = None
    for rows in (2,) if is_gated else (2, 1):
        for shift in reversed(range(grid.subgroup_size.bit_length())):
            of_pass = (grid.subgroup_size >> shift) * (1 if is_gated else rows)
            passes = tuple(_ceil_div(height, of_pass) for height in heights)
            total = passes[0] if is_gated else sum(passes)
            rounds = _ceil_div(total, grid.groups * SUBGROUPS)
            cost = rounds * rows * _ceil_div(n_parts, 1 << shift)
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
    y: Tensor | None = None  # added to x, normed by `post_norm` where there is one; or the input
    x_out: Tensor | None = None  # where x + y, or the embedding, is kept
    norm: Weight | None = None
    post_norm: Weight | None = None
    eps: float = 0.0
    embedding: Weight | None = None
    scale: float = 1.0  # of the embedding
    activation: Activation = Activation.GELU  # of a gated prologue or epilogue

    @property
    def label(self) -> str:
        """Equal for steps that do the same on matrices of the same sizes and formats."""
        sizes = " + ".join(f"{weight.rows} {weight.format}" for weight in self.weights)
        return f"{self.prologue.name}, {sizes} x {self.width}, {self.epilogue.name}".lower()

    def pack(self, locate: Locate, grid: Grid) -> Words:
        words = np.zeros(STEP_WORDS, np.uint32)
        is_gated = self.epilogue is Epilogue.GATED
        heights = [weight.rows for weight in self.weights]
        plan = plan_rows(heights, self.width, grid, is_gated=is_gated)
        words[:6] = (0, self.prologue, self.epilogue, *map(_offset, (self.x, self.y, self.x_out)))
        words[6:10] = (*_address(self.norm, locate), *_address(self.post_norm, locate))
        words[10] = _bits(self.eps)
        words[11:13] = (self.width, len(self.weights))
        words[13] = _bits(self.scale)
        words[14:17] = (self.activation, plan.lanes_shift, plan.rows)
        before = 0
        for number, (weight, output) in enumerate(zip(self.weights, self.outputs, strict=True)):
            start = SEGMENT + number * SEGMENT_WORDS
            passes = plan.passes[number]
            words[start : start + 5] = (
                weight.format.id,
                weight.rows,
                output.offset,
                passes,
                before,
            )
            words[start + 5 : start + SEGMENT_WORDS] = _planes(weight, locate)
            before = (before + passes) % (grid.groups * SUBGROUPS)
        if self.embedding is not None:
            words[EMBEDDING] = self.embedding.format.id
            words[EMBEDDING + 5 : EMBEDDING + SEGMENT_WORDS] = _planes(self.embedding, locate)
        return words


@dataclass(slots=True)
class Attention:
    """Norm and rotation of queries and keys, the new cell, and the sums over the cells."""

    q: Tensor
    k: Tensor
    v: Tensor
    y: Tensor
    q_norm: Weight | None
    k_norm: Weight | None
    table: Weight
    pairing: Pairing
    eps: float
    scale: float
    cache: CacheSlab
    kv_heads: int
    window: int
    partials: int  # offset in floats
    n_parts: int  # most parts of the cells of a key/value head

    @property
    def label(self) -> str:
        return f"attention, window {self.window}" if self.window else "attention, all cells"

    def pack(self, locate: Locate, grid: Grid) -> Words:
        words = np.zeros(STEP_WORDS, np.uint32)
        words[0] = 1
        words[3:6] = (self.q.offset, self.k.offset, self.v.offset)
        words[6:10] = (*_address(self.q_norm, locate), *_address(self.k_norm, locate))
        words[10] = _bits(self.eps)
        words[11:13] = _address(self.table, locate)
        words[13] = _bits(self.scale)
        words[14:16] = (self.window, self.kv_heads)
        words[16:19] = (self.cache.keys, self.cache.values, self.y.offset)
        words[19:21] = (self.partials, parts_of(self.n_parts, self.kv_heads, grid))
        words[21:23] = (self.pairing is Pairing.ADJACENT, self.table.rows)
        return words


Step = Product | Attention


def parts_of(most: int, kv_heads: int, grid: Grid) -> int:
    """So many parts of the cells that each group has one at most; a subgroup joins them."""
    return max(1, min(most, grid.subgroup_size, grid.groups // kv_heads))


def _planes(weight: Weight, locate: Locate) -> Words:
    addresses = (*locate(weight), 0, 0, 0)[:4]
    return np.array(addresses, np.uint64).view(np.uint32)


def _address(weight: Weight | None, locate: Locate) -> tuple[int, int]:
    address = 0 if weight is None else locate(weight)[0]
    return address & 0xFFFFFFFF, address >> 32


def _offset(tensor: Tensor | None) -> int:
    return NONE if tensor is None else tensor.offset


def _bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def _ceil_div(value: int, divisor: int) -> int:
    return -(-value // divisor)
