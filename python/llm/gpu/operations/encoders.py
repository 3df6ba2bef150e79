"""Operations that encoders have beside those of decoders.

Letters: T rows of this run, C model width, P positions.
"""

from dataclasses import dataclass

from llm.gpu.operations.dense import Activation
from llm.gpu.operations.operands import Region, Tensor, Weight


@dataclass(frozen=True, slots=True)
class LayerNorm:
    """y = (x - mean(x)) * weight / sqrt(mean((x - mean(x))^2) + eps), by rows; y may be x.

    Source: Ba, Kiros and Hinton 2016, Layer Normalization; the bias is an AddBias of its own.
    """

    weight: Weight  # (1, C)
    x: Tensor  # (T, C)
    y: Tensor  # (T, C)
    eps: float

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region,)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)


@dataclass(frozen=True, slots=True)
class AddPositions:
    """x[r] = x[r] + weight[position[r]], in place. The weight is float32."""

    weight: Weight  # (P, C)
    x: Tensor  # (T, C)

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region,)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.x.region,)


@dataclass(frozen=True, slots=True)
class Activate:
    """x = activation(x), in place: a feed-forward without a gate."""

    x: Tensor
    activation: Activation

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region,)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.x.region,)


EncoderOperation = LayerNorm | AddPositions | Activate
