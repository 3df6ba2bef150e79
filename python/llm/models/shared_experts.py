"""Feed-forwards of experts that a token chooses, beside one that all tokens use by a share.

Letters: T rows, C width, E experts, U used ones, F feed-forward width of an expert, S of the shared.
"""

from collections.abc import Callable
from dataclasses import dataclass

from llm.files.model_file import ModelFile
from llm.gpu.operations import Activation, Tensor, Weight
from llm.gpu.tape import Tape
from llm.models.experts import ExpertSizes
from llm.models.weights import WeightTable


@dataclass(frozen=True, slots=True)
class Layer:
    router: Weight  # (E, C)
    gates: Weight  # (E*F, C)
    ups: Weight  # (E*F, C)
    downs: Weight  # (E*C, F)
    shared_router: Weight  # (1, C)
    gate: Weight  # (S, C)
    up: Weight  # (S, C)
    down: Weight  # (C, S)


class SharedExpertFeedForwards:
    """See delta_decoder.py. Raises ModelFileError, and UnsupportedModelError for too many experts."""

    def __init__(
        self, file: ModelFile, table: WeightTable, architecture: str, n_layers: int, width: int
    ) -> None:
        sizes = ExpertSizes.from_gguf(file, architecture)
        key = f"{architecture}.expert_shared_feed_forward_length"
        shared = file.metadata.int(key, default=sizes.feed_forward, minimum=1)
        self._sizes = sizes
        self._shared = shared
        self._width = width
        self._layers = []
        count, feed_forward = sizes.count, sizes.feed_forward
        for number in range(n_layers):
            prefix = f"blk.{number}.ffn_"
            self._layers.append(
                Layer(
                    router=table.matrix(prefix + "gate_inp.weight", count, width),
                    gates=table.experts(prefix + "gate_exps.weight", count, feed_forward, width),
                    ups=table.experts(prefix + "up_exps.weight", count, feed_forward, width),
                    downs=table.experts(prefix + "down_exps.weight", count, width, feed_forward),
                    shared_router=table.matrix(prefix + "gate_inp_shexp.weight", 1, width),
                    gate=table.matrix(prefix + "gate_shexp.weight", shared, width),
                    up=table.matrix(prefix + "up_shexp.weight", shared, width),
                    down=table.matrix(prefix + "down_shexp.weight", width, shared),
                )
            )

    def on(self, tape: Tape, h: Tensor, x: Tensor) -> Callable[[int], None]:
        used = self._sizes.used
        scores = tape.tensor(self._sizes.count)  # (T, E)
        choice = tape.choice(self._sizes.count, used)
        gates = tape.tensor(used * self._sizes.feed_forward)  # (T, U*F)
        ups = tape.tensor(used * self._sizes.feed_forward)  # (T, U*F)
        each = tape.tensor(used * self._width)  # (T, U*C)
        share = tape.tensor(1)  # (T, 1)
        gate = tape.tensor(self._shared)  # (T, S)
        up = tape.tensor(self._shared)  # (T, S)
        shared = tape.tensor(self._width)  # (T, C)

        def add(number: int) -> None:
            layer = self._layers[number]
            tape.matmul(layer.router, h, scores)
            tape.route(scores, choice)
            tape.expert_matmul(layer.gates, h, gates, choice)
            tape.expert_matmul(layer.ups, h, ups, choice)
            tape.gated_unit(gates, ups, gates, Activation.SILU)
            tape.expert_matmul(layer.downs, gates, each, choice)
            tape.expert_sum(each, choice, x, residual=x)
            tape.matmul(layer.shared_router, h, share)
            tape.matmul(layer.gate, h, gate)
            tape.matmul(layer.up, h, up)
            tape.gated_unit(gate, up, gate, Activation.SILU)
            tape.matmul(layer.down, gate, shared)
            tape.gated_add(shared, share, x, residual=x)

        return add
