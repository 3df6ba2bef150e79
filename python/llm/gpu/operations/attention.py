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
class Temperature:
    """At position p a query is multiplied by 1 + rate * ln(1 + floor(p / length)).

    So attention stays sharp in texts longer than those of the training. Source: Meta 2025, Llama 4.
    """

    rate: float
    length: int


@dataclass(frozen=True, slots=True)
class Rotate:
    """In place, by heads: RMS norm (where `norm` is given), rotary embedding, then times `scale`.

    The first `turned` values of a head are rotated; those after them are not. `table` holds for
    each pair the turns a position makes, as a sum of two floats, so that position * turns stays
    exact where one float would lose the fraction. Rotated values are also multiplied by
    `magnitude`, and all by what `temperature` says, where it is given. Sources: Su et al. 2021,
    RoFormer; for the magnitude, Peng et al. 2023, YaRN.
    """

    norm: Weight | None  # (1, D)
    table: Weight  # (turned/2, 2)
    x: Tensor  # (T, heads*D)
    heads: int
    pairing: Pairing
    eps: float
    scale: float
    magnitude: float = 1.0
    temperature: Temperature | None = None

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
    all of them. It also sees `ahead` cells after its own, up to that of the run's last row: such
    rows are all of one sequence. `q` is scaled already. Query head h reads key/value head
    h // (H / G). A score loses slopes[h] * |p - j|. Then a score s becomes
    soft_cap * tanh(s / soft_cap), but not where that is 0. Sources: Gemma Team 2024, Gemma 2; for
    the slopes, Press et al. 2022, ALiBi.

    With sinks, the softmax has one more score, sinks[h], whose value is 0. Source: Xiao et al.
    2023, Efficient Streaming Language Models with Attention Sinks; here as gpt-oss has them.
    """

    q: Tensor  # (T, H*D)
    cache: CacheSlab
    y: Tensor  # (T, H*D)
    heads: int
    kv_heads: int
    window: int
    soft_cap: float = 0.0
    ahead: int = 0
    alibi: float = 0.0  # -log2 of the least slope; 0: there are none
    sinks: Weight | None = None  # (1, H)

    @property
    def slopes(self) -> list[float]:
        """Of each head: powers of two with even steps between the exponents. Where the number of
        heads is no power of two, those beyond the last one stand between the first."""
        if self.alibi == 0.0:
            return [0.0] * self.heads
        even = 1 << (self.heads.bit_length() - 1)
        exponents = [head + 1.0 for head in range(even)]
        exponents += [head + 0.5 for head in range(self.heads - even)]
        return [2.0 ** (-self.alibi * exponent / even) for exponent in exponents]

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.q.region, *self.cache.regions)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)
