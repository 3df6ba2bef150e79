"""The operations that a tape is made of. An executor runs each of them; nothing else computes.

Letters: T rows of this run, O output rows, C model width, H query heads, G key/value heads,
D head size, V vocabulary. A row is one token of one sequence. All activations are float32.
"""

from dataclasses import dataclass
from enum import IntEnum

from llm.files.formats import BlockFormat

FLOAT_BYTES = 4
PAGE_CELLS = 64  # of the key/value cache; one for each token


class Count(IntEnum):
    """Which run-time count limits the rows of an operation; the value is its word in the state."""

    ROWS = 0  # tokens of this run
    OUTPUTS = 1  # rows whose logits are wanted


class Pairing(IntEnum):
    """Which two values of a head a rotary embedding turns as a pair; the kernel's own numbers."""

    HALVES = 0  # (i, i + turned/2), as GPT-NeoX pairs them
    ADJACENT = 1  # (2i, 2i + 1), as RoFormer does


class Activation(IntEnum):
    """What a gated unit does to its gate; the kernel's own numbers."""

    GELU = 0  # the tanh form: g/2 * (1 + tanh(sqrt(2/pi) * (g + 0.044715 g^3)))
    SILU = 1  # g / (1 + exp(-g))


@dataclass(frozen=True, slots=True)
class Region:
    """A range of bytes of one buffer, for finding out which operations must wait for which."""

    space: str  # "work", "cache" or "state"
    start: int
    end: int

    def overlaps(self, other: "Region") -> bool:
        return self.space == other.space and self.start < other.end and other.start < self.end

    def covers(self, other: "Region") -> bool:
        return self.space == other.space and self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class Tensor:
    """Activations: `rows` rows of `width` floats in the work buffer, from float `offset` on."""

    offset: int
    rows: int
    width: int

    @property
    def region(self) -> Region:
        start = self.offset * FLOAT_BYTES
        return Region("work", start, start + self.rows * self.width * FLOAT_BYTES)


@dataclass(frozen=True, slots=True)
class Weight:
    """A matrix of the model file in its block format, or a constant of the architecture."""

    name: str
    format: BlockFormat
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class CacheSlab:
    """What a page has of one layer: keys and values of PAGE_CELLS cells, `width` float16 each.

    They start at two word offsets from where the page starts.
    """

    keys: int
    values: int
    width: int

    @classmethod
    def of_layers(cls, count: int, width: int) -> "list[CacheSlab]":
        """Of layers that are all alike, one after the other."""
        words = PAGE_CELLS * width // 2
        return [cls(2 * layer * words, (2 * layer + 1) * words, width) for layer in range(count)]

    @property
    def end(self) -> int:
        """The word after it."""
        return self.values + PAGE_CELLS * self.width // 2

    @property
    def regions(self) -> tuple[Region, Region]:
        """The same ones in each page."""
        size = PAGE_CELLS * self.width * 2
        return (
            Region("cache", self.keys * 4, self.keys * 4 + size),
            Region("cache", self.values * 4, self.values * 4 + size),
        )


@dataclass(frozen=True, slots=True)
class Embed:
    """y[r] = scale * weight[token[r]]"""

    weight: Weight  # (V, C)
    y: Tensor  # (T, C)
    scale: float

    @property
    def reads(self) -> tuple[Region, ...]:
        return ()

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)


@dataclass(frozen=True, slots=True)
class RMSNorm:
    """y = residual + x * weight / sqrt(mean(x^2) + eps), by rows; no residual where it is None.

    Source: Zhang and Sennrich 2019, Root Mean Square Layer Normalization.
    """

    weight: Weight  # (1, C)
    x: Tensor
    y: Tensor
    residual: Tensor | None
    eps: float
    count: Count

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region,) if self.residual is None else (self.x.region, self.residual.region)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)


@dataclass(frozen=True, slots=True)
class MatMul:
    """y[r, m] = residual[r, m] + sum over k of weight[m, k] * x[r, k]; no residual where None.

    The residual may be y itself, but not overlap it otherwise; x must not overlap y.
    """

    weight: Weight  # (M, K)
    x: Tensor  # (T or O, K)
    y: Tensor  # (T or O, M)
    residual: Tensor | None  # (T or O, M)
    count: Count

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region,) if self.residual is None else (self.x.region, self.residual.region)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)


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
    all of them. `q` is scaled already. Query head h reads key/value head h // (H / G).
    """

    q: Tensor  # (T, H*D)
    cache: CacheSlab
    y: Tensor  # (T, H*D)
    heads: int
    kv_heads: int
    window: int

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.q.region, *self.cache.regions)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)


@dataclass(frozen=True, slots=True)
class GatedUnit:
    """y = activation(gate) * up. Source: Shazeer 2020, GLU Variants Improve Transformer."""

    gate: Tensor
    up: Tensor
    y: Tensor
    activation: Activation

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.gate.region, self.up.region)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)


@dataclass(frozen=True, slots=True)
class SelectRows:
    """y[o] = x[outputs[o]]"""

    x: Tensor  # (T, C)
    y: Tensor  # (O, C)

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region,)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)


Operation = Embed | RMSNorm | MatMul | Rotate | CacheStore | Attend | GatedUnit | SelectRows
