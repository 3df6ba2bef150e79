"""An operation that encoders have beside those of decoders.

Letters: T rows of this run, C model width, P positions.
"""

from dataclasses import dataclass

from llm.gpu.operations.operands import Region, Tensor, Weight


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
