"""Qwen3.5, dense: gated DeltaNet, with gated attention in every fourth layer.

What is special:
  - most layers have a matrix for each head in place of cells (delta_net.py), constant in the length
    of a text. Value head h of such a layer has the key head h % key heads
  - the others attend, gated by a sigmoid, and turn a part of each head (gated_attention.py)
  - text has the same position in all sections of the rotation, which is then the usual one
  - a gated feed-forward with SiLU; the norm before it is named post_attention_norm
  - converters bake "+ 1" into the stored norm weights, but for that of what the matrices give
  - further blocks, which predict several tokens, are left alone

Letters: T rows, C width, F feed-forward width.
"""

from collections.abc import Callable
from dataclasses import dataclass

from llm.files.model_file import ModelFile
from llm.gpu.operations import Activation, HeadMapping, Tensor, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models.delta_decoder import DeltaConfig, delta_program
from llm.models.weights import WeightTable


@dataclass(frozen=True, slots=True)
class FeedForward:
    gate: Weight  # (F, C)
    up: Weight  # (F, C)
    down: Weight  # (C, F)


class FeedForwards:
    """See delta_decoder.py."""

    def __init__(self, table: WeightTable, n_layers: int, width: int, size: int) -> None:
        self._size = size
        self._layers = [
            FeedForward(
                gate=table.matrix(f"blk.{layer}.ffn_gate.weight", size, width),
                up=table.matrix(f"blk.{layer}.ffn_up.weight", size, width),
                down=table.matrix(f"blk.{layer}.ffn_down.weight", width, size),
            )
            for layer in range(n_layers)
        ]

    def on(self, tape: Tape, h: Tensor, x: Tensor) -> Callable[[int], None]:
        gate = tape.tensor(self._size)  # (T, F)
        up = tape.tensor(self._size)  # (T, F)

        def add(layer: int) -> None:
            weights = self._layers[layer]
            tape.matmul(weights.gate, h, gate)
            tape.matmul(weights.up, h, up)
            tape.gated_unit(gate, up, gate, Activation.SILU)
            tape.matmul(weights.down, gate, x, residual=x)

        return add


def program(file: ModelFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for scalings of positions."""
    cfg = DeltaConfig.from_gguf(file, "qwen35", HeadMapping.TILED)
    size = file.metadata.int("qwen35.feed_forward_length", minimum=1)
    table = WeightTable(file)
    feed_forwards = FeedForwards(table, cfg.n_layers, cfg.width, size)
    return delta_program(file, cfg, table, feed_forwards, context, max_rows, max_outputs)
