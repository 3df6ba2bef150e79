"""Attention steps: norm and rotation of queries and keys, the new cell, sums over the cells.

While cells are few, a group attends for a query head. Many cells are cut into parts for as many
groups, and a step of its own joins them; then a group has several of the query heads that share a
key/value head, where that leaves enough groups, so that the cache is read less often.
"""

from dataclasses import dataclass, replace

import numpy as np

from llm.gpu.operations import CacheSlab, Pairing, Temperature, Tensor, Weight
from llm.gpu.steps.packing import (
    STEP_WORDS,
    Grid,
    Locate,
    Words,
    ceil_div,
    float_bits,
    glsl_float,
    literal,
    offset_of,
    vector_address,
)

MOST_TOGETHER = 2  # query heads: with 4 the cache is read half as often, but no faster
SMALL_HEAD = 128  # values: up to here four cells a lane are best, for larger ones two
# Of small and of larger heads: more cells are quicker in parts, smaller parts not worth joining.
FEW_CELLS = (640, 128)
PART_CELLS = (256, 64)
NO_TEMPERATURE = Temperature(rate=0.0, length=1)
SINKS = 21  # the word of their address
PART_FLOATS = 4  # before the sums of a part


@dataclass(slots=True)
class Attention:
    """Norm and rotation of queries and keys, the new cell, and the sums over the cells."""

    q: Tensor
    k: Tensor | None  # None where another layer has stored the token's cell
    v: Tensor | None
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
    partials: Tensor  # room for what the most parts leave
    n_parts: int  # most parts of the cells of a key/value head
    norms_values: bool = False
    meets: bool = False  # others than the next step read the new cell
    has_parts: bool = False  # see `for_many_cells`
    together: int = 1  # query heads that a group attends for
    magnitude: float = 1.0  # of rotated values
    soft_cap: float = 0.0  # of scores; or 0
    temperature: Temperature | None = None  # of queries
    sinks: Weight | None = None

    @property
    def label(self) -> str:
        cells = f"window {self.window}" if self.window else "all cells"
        return f"attention, {cells}{', in parts' if self.has_parts else ''}"

    @property
    def group_heads(self) -> int:
        """Query heads that share a key/value head."""
        return self.q.width // (self.kv_heads * self.head_size)

    @property
    def head_size(self) -> int:
        return self.cache.width // self.kv_heads

    @property
    def few_cells(self) -> int:
        """So many cells are quickest without parts."""
        return FEW_CELLS[self.head_size > SMALL_HEAD]

    def for_many_cells(self, grid: Grid) -> "list[Attention | Join]":
        """The steps for more cells: only itself where there never are."""
        if 0 < self.window <= self.few_cells:
            return [self]
        together = heads_together(self.group_heads)
        items = self.kv_heads * ceil_div(self.group_heads, together)
        pays = items * self.n_parts >= grid.groups
        parted = replace(self, has_parts=True, together=together if pays else 1)
        return [parted, Join(parted)]

    def parts(self, groups: int) -> int:
        """That the cells of a head are cut into, run by so many groups: each has one at most."""
        if not self.has_parts:
            return 1
        items = self.kv_heads * ceil_div(self.group_heads, self.together)
        most = min(self.n_parts, groups // items)
        if self.window:
            most = min(most, ceil_div(self.window, PART_CELLS[self.head_size > SMALL_HEAD]))
        return max(1, most)

    def left(self, groups: int) -> Tensor:
        """What it leaves, run by so many groups: heads, or floats of the parts of all heads."""
        if not self.has_parts:
            return self.y
        n_heads = self.kv_heads * self.group_heads
        floats = n_heads * self.parts(groups) * (self.head_size + PART_FLOATS)
        return Tensor(self.partials.offset, 1, floats)

    def case(self, _grid: Grid) -> str:
        """GLSL that runs steps of this kind."""
        sizes = f"{self.kv_heads}u, {self.group_heads}u"
        cells = f"{literal(self.has_parts)}, {literal(self.k is not None)}"
        turns = f"{literal(self.pairing is Pairing.ADJACENT)}, {self.table.rows}u"
        norms = f"{literal(self.q_norm is not None)}, {literal(self.norms_values)}"
        norms += f", {literal(self.sinks is not None)}"
        tuning = self.temperature or NO_TEMPERATURE
        factors = f"{glsl_float(self.magnitude)}, {glsl_float(self.soft_cap)}, "
        factors += f"{glsl_float(tuning.rate)}, {tuning.length}u"
        items = "apart" if self.together == 1 else "together"
        name = f"attend_{items}_{self.head_size}"
        return f"{name}(position, {sizes}, {cells}, {turns}, {norms}, {factors});"

    def pack(self, kind: int, locate: Locate, grid: Grid, groups: int) -> Words:
        """As of a Product."""
        words = np.zeros(STEP_WORDS, np.uint32)
        words[:4] = (kind, *map(offset_of, (self.q, self.k, self.v)))
        words[4:6] = (float_bits(self.eps), float_bits(self.scale))
        words[6:10] = (*vector_address(self.q_norm, locate), *vector_address(self.k_norm, locate))
        words[10:12] = vector_address(self.table, locate)
        words[12:15] = (self.cache.keys, self.cache.values, self.y.offset)
        words[15:18] = (self.partials.offset, self.parts(groups), self.window)
        words[SINKS : SINKS + 2] = vector_address(self.sinks, locate)
        return words


@dataclass(slots=True)
class Join:
    """The parts that an attention leaves become its heads."""

    of: Attention

    meets = False
    label = "join parts"

    def case(self, _grid: Grid) -> str:
        """GLSL that runs steps of this kind."""
        n_heads = self.of.kv_heads * self.of.group_heads
        return f"join_parts_{self.of.head_size}({n_heads}u, {literal(self.of.sinks is not None)});"

    def pack(self, kind: int, locate: Locate, _grid: Grid, groups: int) -> Words:
        """As of a Product."""
        words = np.zeros(STEP_WORDS, np.uint32)
        words[0], words[14] = kind, self.of.y.offset
        words[15:17] = (self.of.partials.offset, self.of.parts(groups))
        words[SINKS : SINKS + 2] = vector_address(self.of.sinks, locate)
        return words


def heads_together(group_heads: int) -> int:
    """Query heads that a group attends for where cells are many, of those of a key/value head."""
    return ceil_div(group_heads, ceil_div(group_heads, MOST_TOGETHER))


def lane_cells(head_size: int) -> int:
    """Cells of a tile that a lane of an attention loads."""
    return 4 if head_size <= SMALL_HEAD else 2
