"""Feed-forwards of experts that a token chooses, beside one that all tokens use by a share.

Letters: T rows, C width, E experts, U used ones, F feed-forward width of an expert, S that of the
expert that all use.
"""

from collections.abc import Callable
from dataclasses import dataclass

from llm.files.model_file import ModelFile
from llm.gpu.operations import Activation, Tensor, Weight
from llm.gpu.tape import Tape
from llm.models.experts import ExpertSizes, SharedExpert
from llm.models.weights import WeightTable


@dataclass(frozen=True, slots=True)
class Layer:
    router: Weight  # (E, C)
    gates: Weight  # (E*F, C)
    ups: Weight  # (E*F, C)
    downs: Weight  # (E*C, F)
    shared_share: Weight  # (1, C)
    shared: SharedExpert


class SharedExpertFeedForwards:
    """See feed_forwards.py.

    Raises ModelFileError, and UnsupportedModelError for more experts than the kernels choose from.
    """

    def __init__(
        self, file: ModelFile, table: WeightTable, architecture: str, n_layers: int, width: int
    ) -> None:
        sizes = ExpertSizes.from_gguf(file, architecture)
        key = f"{architecture}.expert_shared_feed_forward_length"
        shared = file.metadata.int(key, minimum=1)
        self._sizes = sizes
        self._shared = shared
        self._width = width
        self._layers = []
        count, feed_forward = sizes.count, sizes.feed_forward
        for number in range(n_layers):
            prefix = f"blk.{number}."
            self._layers.append(
                Layer(
                    router=table.matrix(prefix + "ffn_gate_inp.weight", count, width),
                    gates=table.experts(
                        prefix + "ffn_gate_exps.weight", count, feed_forward, width
                    ),
                    ups=table.experts(prefix + "ffn_up_exps.weight", count, feed_forward, width),
                    downs=table.experts(
                        prefix + "ffn_down_exps.weight", count, width, feed_forward
                    ),
                    shared_share=table.matrix(prefix + "ffn_gate_inp_shexp.weight", 1, width),
                    shared=SharedExpert.take(table, prefix, shared, width),
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
        every = tape.tensor(self._width)  # (T, C), of the expert that all use
        shared_gate = tape.tensor(self._shared)  # (T, S)
        shared_up = tape.tensor(self._shared)  # (T, S)

        def add(number: int) -> None:
            layer = self._layers[number]
            tape.matmul(layer.router, h, scores)
            tape.route(scores, choice)
            tape.expert_matmul(layer.gates, h, gates, choice)
            tape.expert_matmul(layer.ups, h, ups, choice)
            tape.gated_unit(gates, ups, gates, Activation.SILU)
            tape.expert_matmul(layer.downs, gates, each, choice)
            tape.expert_sum(each, choice, x, residual=x)
            layer.shared.record(tape, h, shared_gate, shared_up, every, None)
            tape.matmul(layer.shared_share, h, share)
            tape.gated_add(every, share, x, residual=x)

        return add
