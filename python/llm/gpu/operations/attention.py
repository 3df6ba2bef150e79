"""Operations on heads, and on the cells of the key/value cache.

Letters: T rows of this run, H query heads, G key/value heads, D head size.
"""

from dataclasses import dataclass
from enum import IntEnum

from llm.gpu.operations.operands import CacheSlab, Region, Tensor, Weight


class Pairing(IntEnum):
    """Which two values of a head a rotary embedding turns as a pair; the kernel's own numbers."""

    HALVES = 0  # (i, i + turned/2), as GPT-NeoX pairs them
    ADJACENT = 1  # (2i, 2i + 1), as RoFormer does


@dataclass(frozen=True, slots=True)
class Rotate:
    """In place, by heads: RMS norm (where `norm` is given), rotary embedding, then times `scale`.

    The first `turned` values of a head are rotated; those after them are not. `table` holds for
    each pair the turns a position makes, as a sum of two floats, so that position * turns stays
    exact where one float would lose the fraction. Source: Su et al. 2021, RoFormer.
    """

    norm: Weight | None  # (1, D)
    table: Weight  # (turned/2, 2)
    x: Tensor  # (T, heads*D)
    heads: int
    pairing: Pairing
    eps: float
    scale: float

    @property
    def turned(self) -> int:
        return 2 * self.table.rows

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region,)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.x.region,)


@dataclass(frozen=True, slots=True)
class CacheStore:
    """Keys and values of the rows go, as float16, to the cell of its position in its sequence."""

    k: Tensor  # (T, G*D)
    v: Tensor  # (T, G*D)
    cache: CacheSlab

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.k.region, self.v.region)

    @property
    def writes(self) -> tuple[Region, ...]:
        return self.cache.regions


@dataclass(frozen=True, slots=True)
class Attend:
    """y[r, h] = softmax over the cells j that row r may see of (q[r, h] . K[j]) times V[j].

    A row at position p sees cells max(0, p - window + 1) to p of its sequence; where window is 0
    all of them. `q` is scaled already. Query head h reads key/value head h // (H / G). With sinks,
    the softmax has one more score, sinks[h], whose value is 0. Source: Xiao et al. 2023, Efficient
    Streaming Language Models with Attention Sinks; here as gpt-oss has them.
    """

    q: Tensor  # (T, H*D)
    cache: CacheSlab
    y: Tensor  # (T, H*D)
    heads: int
    kv_heads: int
    window: int
    sinks: Weight | None = None  # (1, H)

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.q.region, *self.cache.regions)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)
