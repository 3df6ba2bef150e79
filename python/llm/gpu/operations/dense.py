"""Operations on rows of activations.

Letters: T rows of this run, O output rows, C model width, V vocabulary, M rows and K columns of a
matrix.
"""

from dataclasses import dataclass
from enum import IntEnum

from llm.gpu.operations.operands import Count, Region, Tensor, Weight


class Activation(IntEnum):
    """What a gated unit does to its gate, say; the kernels' own numbers."""

    GELU = 0  # the tanh form: g/2 * (1 + tanh(sqrt(2/pi) * (g + 0.044715 g^3)))
    SILU = 1  # g / (1 + exp(-g))
    SIGMOID = 2  # 1 / (1 + exp(-g))
    CLAMPED = 3  # of gpt-oss: g / (1 + exp(-1.702 g)) where g is at most 7; and see GatedUnit


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
    """y = scale * (residual + x * weight / sqrt(mean(x^2) + eps)), by rows, or by their `parts`.

    All parts of a row are of one width and have the weight in common. No residual, no weight where
    they are None. Source: Zhang and Sennrich 2019, Root Mean Square Layer Normalization.
    """

    weight: Weight | None  # (1, C / parts)
    x: Tensor
    y: Tensor
    residual: Tensor | None
    eps: float
    count: Count
    parts: int = 1
    scale: float = 1.0

    @property
    def is_plain(self) -> bool:
        """Whether a whole row is normed by a weight, and nothing is scaled."""
        return self.weight is not None and self.parts == 1 and self.scale == 1.0

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region,) if self.residual is None else (self.x.region, self.residual.region)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)


@dataclass(frozen=True, slots=True)
class LayerNorm:
    """y = (x - mean(x)) * weight / sqrt(variance(x) + eps) + bias, by rows; no bias where None.

    Source: Ba, Kiros and Hinton 2016, Layer Normalization.
    """

    weight: Weight  # (1, C)
    bias: Weight | None  # (1, C)
    x: Tensor
    y: Tensor
    eps: float
    count: Count

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region,)

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
class AddBias:
    """x[r] = x[r] + weight[0], in place."""

    weight: Weight  # (1, C)
    x: Tensor
    count: Count

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region,)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.x.region,)


@dataclass(frozen=True, slots=True)
class ScaleLogits:
    """x = soft_cap * tanh(scale * x / soft_cap), in place; scale * x where soft_cap is 0.

    What is infinite stays so, and is noticed when tokens are chosen. Source: Gemma Team 2024,
    Gemma 2.
    """

    x: Tensor  # (O, V)
    scale: float
    soft_cap: float

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region,)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.x.region,)


@dataclass(frozen=True, slots=True)
class GatedUnit:
    """y = activation(gate) * up; of CLAMPED it is up between -7 and 7, plus 1.

    `up` may be some of the columns of a wider tensor. Source: Shazeer 2020, GLU Variants Improve
    Transformer.
    """

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
class Activate:
    """x = activation(x), in place."""

    x: Tensor
    activation: Activation

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region,)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.x.region,)


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
