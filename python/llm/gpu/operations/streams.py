"""Operations on several residual streams side by side, and element by element.

Letters: T rows of this run, O output rows, C width of a stream, S streams, J streams that are mixed
in. Tensors may be columns of a wider one.
"""

from dataclasses import dataclass

from llm.gpu.operations.operands import Count, Region, Tensor, Weight


@dataclass(frozen=True, slots=True)
class Combine:
    """y = scale * (x + factor * other) * weight; no other, no weight where they are None."""

    x: Tensor  # (T or O, C)
    other: Tensor | None  # (T or O, C)
    weight: Weight | None  # (1, C)
    y: Tensor  # (T or O, C)
    factor: float
    scale: float
    count: Count

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region,) if self.other is None else (self.x.region, self.other.region)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)


@dataclass(frozen=True, slots=True)
class Rescale:
    """y = x * |like| / |x|, by rows: with the length of another vector."""

    x: Tensor  # (T, C)
    like: Tensor  # (T, C)
    y: Tensor  # (T, C)

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region, self.like.region)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)


@dataclass(frozen=True, slots=True)
class MixStreams:
    """y[s] = x[s] + sum over j of (bias + a[s, j]) * z[j], where a = weight * tanh(router).

    Source: Baykal et al. 2023, Alternating Updates for Efficient Transformers.
    """

    weight: Weight  # (S*J, S), float32
    router: Tensor  # (T, S)
    x: Tensor  # (T, S*C)
    z: Tensor  # (T, J*C)
    y: Tensor  # (T, S*C), not overlapping z
    bias: float

    @property
    def streams(self) -> int:
        return self.router.width

    @property
    def mixed(self) -> int:
        """J"""
        return self.weight.rows // self.streams

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.router.region, self.x.region, self.z.region)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)


@dataclass(frozen=True, slots=True)
class Sparsify:
    """x = max(0, x - mean - factor * deviation), in place, by rows of F values.

    The deviation is that of a sample, over F - 1. Of values that are normally distributed few are
    left. Source: the model card of Gemma 3n.
    """

    x: Tensor  # (T, F)
    factor: float

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region,)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.x.region,)


Streams = Combine | Rescale | MixStreams | Sparsify
