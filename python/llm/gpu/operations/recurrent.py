"""Operations on the recurrent state of sequences, and what stands around them.

A row reads the state that the row before it in its sequence left, and leaves its own. The row at
position 0 finds zeros. In a run, rows of a sequence follow each other.

Letters: T rows of this run, C channels, K taps of a convolution, H value heads, G key heads, D head
size.
"""

from dataclasses import dataclass
from enum import IntEnum

from llm.gpu.operations.operands import Region, StateSlab, Tensor, Weight

DELTA_CHUNK = 16  # rows that the delta rule may be applied to at once
PAIR_FLOATS = 2 * DELTA_CHUNK + 2  # of a row and value head: delta_pairs.glslh


class HeadMapping(IntEnum):
    """Which key head a value head h reads; the kernel's own numbers."""

    TILED = 0  # h % G
    GROUPED = 1  # h // (H / G)


@dataclass(frozen=True, slots=True)
class Convolve:
    """A causal convolution of each channel: c[r] = sum over j of weight[:, j] * u[r - (K-1) + j].

    y = silu(c), and u = x. Where it `is_gated`, a row of x has three parts, each (C,): u is the
    first times the third, and y = second * c, without silu. The state is the K - 1 rows of u
    before, the oldest first. y must not overlap x. Source for the latter: Liquid AI 2025, LFM2.
    """

    weight: Weight  # (C, K)
    x: Tensor  # (T, C), or (T, 3*C)
    y: Tensor  # (T, C)
    state: StateSlab  # (K - 1, C)
    is_gated: bool

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region, self.state.region)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region, self.state.region)


@dataclass(frozen=True, slots=True)
class DeltaRule:
    """The gated delta rule. For each value head, with its q, k and v, and its state S (D, D):

        S = exp(decay * softplus(alpha + bias)) * S
        S = S + k (x) (sigmoid(beta) * (v - S^T k))
        y = S^T q / sqrt(D)

    `qkv` has in a row the queries and the keys of the key heads, then the values. `pairs` is room
    for what an executor may find of the rows of a chunk. Source: Yang et al. 2024, Gated Delta
    Networks.
    """

    qkv: Tensor  # (T, (2*G + H)*D)
    alpha: Tensor  # (T, H)
    beta: Tensor  # (T, H)
    decay: Weight  # (1, H), below 0
    bias: Weight  # (1, H)
    pairs: Tensor  # (T, H*PAIR_FLOATS)
    y: Tensor  # (T, H*D)
    state: StateSlab  # (H, D, D): S[h, key dimension, value dimension]
    key_heads: int
    heads: int  # of values
    mapping: HeadMapping

    @property
    def head_size(self) -> int:
        return self.y.width // self.heads

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.qkv.region, self.alpha.region, self.beta.region, self.state.region)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region, self.pairs.region, self.state.region)


@dataclass(frozen=True, slots=True)
class L2Norm:
    """In place: each of the first `heads` heads of a row over its length, which counts as `eps`
    where it is less."""

    x: Tensor  # (T, heads*D and more)
    heads: int
    head_size: int
    eps: float

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region,)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.x.region,)


@dataclass(frozen=True, slots=True)
class GatedNorm:
    """y = RMS norm of x by heads * weight * silu(gate). y may be x."""

    weight: Weight  # (1, D)
    x: Tensor  # (T, heads*D)
    gate: Tensor  # (T, heads*D)
    y: Tensor  # (T, heads*D)
    heads: int
    eps: float

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region, self.gate.region)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)


@dataclass(frozen=True, slots=True)
class SliceHeads:
    """A part of each head: y[r, h] = x[r, h, first : first + D], where D is the head size of y."""

    x: Tensor  # (T, heads*S)
    y: Tensor  # (T, heads*D)
    heads: int
    first: int

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region,)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)


Recurrent = Convolve | DeltaRule | L2Norm | GatedNorm | SliceHeads
