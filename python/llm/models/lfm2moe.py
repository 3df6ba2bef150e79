"""LFM2 with a mixture of experts, such as 8B-A1B.

What is special:
  - the layers are those of lfm2.py
  - the first few have a usual feed-forward, the others experts
  - an expert's score is a sigmoid; a bias counts where the used ones are chosen, not in their
    shares, which sum up to 1

Letters: T rows, C width, E experts, U used ones, F feed-forward width of an expert.
"""

from collections.abc import Callable
from dataclasses import dataclass

from llm.errors import UnsupportedModelError
from llm.files.model_file import ModelFile
from llm.gpu.operations import Activation, Scoring, Tensor, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models.convolution_decoder import ConvolutionConfig, convolution_program
from llm.models.experts import ExpertSizes
from llm.models.feed_forwards import GatedFeedForwards
from llm.models.weights import WeightTable

SIGMOID = 2  # as files number what scores are made by


@dataclass(frozen=True, slots=True)
class Layer:
    router: Weight  # (E, C)
    bias: Weight  # (1, E)
    gates: Weight  # (E*F, C)
    ups: Weight  # (E*F, C)
    downs: Weight  # (E*C, F)


class FeedForwards:
    """See feed_forwards.py. Raises ModelFileError, and UnsupportedModelError for too many experts
    and for scores that are no sigmoids."""

    def __init__(self, file: ModelFile, table: WeightTable, cfg: ConvolutionConfig) -> None:
        meta = file.metadata
        key = "lfm2moe.expert_gating_func"
        gating = meta.int(key)
        if gating != SIGMOID:
            raise UnsupportedModelError(file.path, key, gating, [f"{SIGMOID} (sigmoid)"])
        leading = meta.int("lfm2moe.leading_dense_block_count", 0, maximum=cfg.n_layers)
        size = meta.int("lfm2moe.feed_forward_length", minimum=1)
        width = cfg.width
        sizes = ExpertSizes.from_gguf(file, "lfm2moe")
        count, feed_forward = sizes.count, sizes.feed_forward
        self._width = width
        self._sizes = sizes
        self._leading = leading
        self._dense = GatedFeedForwards(table, leading, width, size)
        self._layers = []
        for number in range(leading, cfg.n_layers):
            prefix = f"blk.{number}."
            self._layers.append(
                Layer(
                    router=table.matrix(prefix + "ffn_gate_inp.weight", count, width),
                    bias=table.vector(prefix + "exp_probs_b.bias", count),
                    gates=table.experts(
                        prefix + "ffn_gate_exps.weight", count, feed_forward, width
                    ),
                    ups=table.experts(prefix + "ffn_up_exps.weight", count, feed_forward, width),
                    downs=table.experts(
                        prefix + "ffn_down_exps.weight", count, width, feed_forward
                    ),
                )
            )

    def on(self, tape: Tape, h: Tensor, x: Tensor) -> Callable[[int], None]:
        used = self._sizes.used
        add_dense = self._dense.on(tape, h, x)
        scores = tape.tensor(self._sizes.count)  # (T, E)
        choice = tape.choice(self._sizes.count, used)
        gates = tape.tensor(used * self._sizes.feed_forward)  # (T, U*F)
        ups = tape.tensor(used * self._sizes.feed_forward)  # (T, U*F)
        each = tape.tensor(used * self._width)  # (T, U*C)

        def add(number: int) -> None:
            if number < self._leading:
                add_dense(number)
                return
            layer = self._layers[number - self._leading]
            tape.matmul(layer.router, h, scores)
            tape.route(scores, choice, scoring=Scoring.SIGMOID, bias=layer.bias)
            tape.expert_matmul(layer.gates, h, gates, choice)
            tape.expert_matmul(layer.ups, h, ups, choice)
            tape.gated_unit(gates, ups, gates, Activation.SILU)
            tape.expert_matmul(layer.downs, gates, each, choice)
            tape.expert_sum(each, choice, x, residual=x)

        return add


def program(file: ModelFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for more experts than the kernels choose from, scores that are no
    sigmoids, biases, further norms and unknown scalings of positions."""
    cfg = ConvolutionConfig.from_gguf(file, "lfm2moe")
    table = WeightTable(file)
    feed_forwards = FeedForwards(file, table, cfg)
    return convolution_program(file, cfg, table, feed_forwards, context, max_rows, max_outputs)
