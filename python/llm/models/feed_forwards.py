"""Feed-forwards of all layers of a decoder, as decoders take them that leave open which they have.

Letters: T rows, C width, F feed-forward width.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from llm.gpu.operations import Activation, Tensor, Weight
from llm.gpu.tape import Tape
from llm.models.weights import WeightTable


class FeedForwards(Protocol):
    def on(self, tape: Tape, h: Tensor, x: Tensor) -> Callable[[int], None]:
        """Makes room for their activations. What it gives adds to x what a layer makes of h."""


@dataclass(frozen=True, slots=True)
class Layer:
    gate: Weight  # (F, C)
    up: Weight  # (F, C)
    down: Weight  # (C, F)


class GatedFeedForwards:
    """Of the first `n_layers` layers, gated with SiLU."""

    def __init__(self, table: WeightTable, n_layers: int, width: int, size: int) -> None:
        self._size = size
        self._layers = [
            Layer(
                gate=table.matrix(f"blk.{layer}.ffn_gate.weight", size, width),
                up=table.matrix(f"blk.{layer}.ffn_up.weight", size, width),
                down=table.matrix(f"blk.{layer}.ffn_down.weight", width, size),
            )
            for layer in range(n_layers)
        ]

    def on(self, tape: Tape, h: Tensor, x: Tensor) -> Callable[[int], None]:
        gate = tape.tensor(self._size)  # (T, F)
        up = tape.tensor(self._size)  # (T, F)

        def add(number: int) -> None:
            layer = self._layers[number]
            tape.matmul(layer.gate, h, gate)
            tape.matmul(layer.up, h, up)
            tape.gated_unit(gate, up, gate, Activation.SILU)
            tape.matmul(layer.down, gate, x, residual=x)

        return add
