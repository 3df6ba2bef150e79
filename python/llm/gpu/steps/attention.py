"""Attention steps: norm and rotation of queries and keys, the new cell, sums over the cells.

Few cells go to many groups, each with one query head; of many cells, a group has several of the
query heads that share a key/value head, so that the cache is read less often.
"""

from dataclasses import dataclass, replace

import numpy as np

from llm.gpu.operations import CacheSlab, Pairing, Tensor, Weight
from llm.gpu.state import MAX_ATTEND_ITEMS
from llm.gpu.steps.packing import (
    STEP_WORDS,
    SUBGROUPS,
    Grid,
    Locate,
    Words,
    ceil_div,
    float_bits,
    vector_address,
)

MOST_TOGETHER = 2  # query heads: with 4 the cache is read half as often, but no faster
SMALL_HEAD = 128  # values: up to here four cells a lane are best, for larger ones two


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
    together: int = 1  # query heads that a group attends for: see `with_heads_together`

    @property
    def label(self) -> str:
        return f"attention, window {self.window}" if self.window else "attention, all cells"

    @property
    def group_heads(self) -> int:
        """Query heads that share a key/value head."""
        return self.q.width // self.k.width

    def few_cells(self, grid: Grid) -> int:
        """So many cells are best with a query head a group: each then has one tile at most."""
        tile = tile_cells(self.k.width // self.kv_heads, grid.subgroup_size)
        return tile * parts_of(self.n_parts, self.kv_heads * self.group_heads, grid)

    def with_heads_together(self, grid: Grid) -> "Attention":
        """For more cells: reads them less often. The same where groups would have no work."""
        together = heads_together(self.group_heads)
        items = self.kv_heads * ceil_div(self.group_heads, together)
        sees_many = self.window == 0 or self.window > self.few_cells(grid)
        pays = sees_many and items * self.n_parts >= grid.groups
        return replace(self, together=together) if pays else self

    def case(self, _grid: Grid) -> str:
        """GLSL that runs steps of this kind."""
        flags = [self.pairing is Pairing.ADJACENT, self.q_norm is not None]
        adjacent, normed = (str(flag).lower() for flag in flags)
        sizes = f"{self.kv_heads}u, {adjacent}, {self.table.rows}u, {normed}"
        name = "attend_apart" if self.together == 1 else "attend_together"
        return f"{name}(position, {sizes});"

    def pack(self, kind: int, locate: Locate, grid: Grid, groups: int) -> Words:
        """As of a Product."""
        words = np.zeros(STEP_WORDS, np.uint32)
        words[:4] = (kind, self.q.offset, self.k.offset, self.v.offset)
        words[4:6] = (float_bits(self.eps), float_bits(self.scale))
        words[6:10] = (*vector_address(self.q_norm, locate), *vector_address(self.k_norm, locate))
        words[10:12] = vector_address(self.table, locate)
        words[12:15] = (self.cache.keys, self.cache.values, self.y.offset)
        items = self.kv_heads * ceil_div(self.group_heads, self.together)
        parts = parts_of(self.n_parts, items, Grid(groups, grid.subgroup_size))
        words[15:18] = (self.partials, parts, self.window)
        return words


def heads_together(group_heads: int) -> int:
    """Query heads that a group attends for where cells are many, of those of a key/value head."""
    return ceil_div(group_heads, ceil_div(group_heads, MOST_TOGETHER))


def lane_cells(head_size: int) -> int:
    """Cells of a tile that a lane of an attention loads."""
    return 4 if head_size <= SMALL_HEAD else 2


def tile_cells(head_size: int, subgroup_size: int) -> int:
    """Cells that a group attends to at once."""
    return SUBGROUPS * max(1, subgroup_size * 8 // head_size) * lane_cells(head_size)


def parts_of(most: int, items: int, grid: Grid) -> int:
    """So many parts of the cells that each group has one at most; a subgroup joins them."""
    if items > MAX_ATTEND_ITEMS:
        return 1
    return max(1, min(most, grid.subgroup_size, grid.groups // items))
