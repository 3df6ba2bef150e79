"""The experts of Gemma 4, beside the feed-forward that every token uses.

Both begin with the stream, and end with norms of their own. What the router reads is the stream
under a third norm, over sqrt(C). An expert's share, of those of its token, is then multiplied by a
number of the expert.

Letters: T rows, C width, E experts, U of them used, F feed-forward width of one.
"""

import math
from dataclasses import dataclass

from llm.gpu.operations import Activation, Choice, Tensor, Weight
from llm.gpu.tape import Tape
from llm.models.experts import ExpertSizes
from llm.models.weights import WeightTable


@dataclass(frozen=True, slots=True)
class ExpertRoom:
    """What the experts of a layer leave while they run."""

    h: Tensor  # (T, C)
    scores: Tensor  # (T, E)
    choice: Choice
    gate: Tensor  # (T, U*F)
    up: Tensor  # (T, U*F)
    each: Tensor  # (T, U*C)
    total: Tensor  # (T, C)

    @classmethod
    def of(cls, tape: Tape, sizes: ExpertSizes, width: int) -> "ExpertRoom":
        return cls(
            h=tape.tensor(width),
            scores=tape.tensor(sizes.count),
            choice=tape.choice(sizes.count, sizes.used),
            gate=tape.tensor(sizes.used * sizes.feed_forward),
            up=tape.tensor(sizes.used * sizes.feed_forward),
            each=tape.tensor(sizes.used * width),
            total=tape.tensor(width),
        )


@dataclass(frozen=True, slots=True)
class Experts:
    beside_norm: Weight  # (1, C), of what the feed-forward beside them makes
    router_norm: Weight  # (1, C)
    router: Weight  # (E, C)
    gains: Weight | None  # (1, E), of shares
    norm: Weight  # (1, C)
    gates: Weight  # (E*F, C)
    ups: Weight  # (E*F, C)
    downs: Weight  # (E*C, F)
    post_norm: Weight  # (1, C)

    @classmethod
    def take(cls, table: WeightTable, prefix: str, sizes: ExpertSizes, width: int) -> "Experts":
        """Raises ModelFileError where tensors are missing or misshapen."""
        count, feed_forward = sizes.count, sizes.feed_forward
        both = prefix + "ffn_gate_up_exps.weight"
        if table.has(both):
            gates, ups = table.expert_pieces(both, count, [feed_forward] * 2, width)
        else:
            gates, ups = (
                table.experts(f"{prefix}ffn_{kind}_exps.weight", count, feed_forward, width)
                for kind in ("gate", "up")
            )
        return cls(
            beside_norm=table.vector(prefix + "post_ffw_norm_1.weight", width),
            router_norm=table.vector(prefix + "ffn_gate_inp.scale", width),
            router=table.matrix(prefix + "ffn_gate_inp.weight", count, width),
            gains=table.vector_or_none(prefix + "ffn_down_exps.scale", count),
            norm=table.vector(prefix + "pre_ffw_norm_2.weight", width),
            gates=gates,
            ups=ups,
            downs=table.experts(prefix + "ffn_down_exps.weight", count, width, feed_forward),
            post_norm=table.vector(prefix + "post_ffw_norm_2.weight", width),
        )

    def record(self, tape: Tape, x: Tensor, y: Tensor, room: ExpertRoom, eps: float) -> None:
        """Norms y, what the feed-forward beside them made of the stream x, and adds theirs."""
        h, choice = room.h, room.choice
        tape.rms_norm(self.beside_norm, y, y, eps)
        tape.rms_norm(self.router_norm, x, h, eps, scale=1.0 / math.sqrt(x.width))
        tape.matmul(self.router, h, room.scores)
        tape.route(room.scores, choice, gains=self.gains)
        tape.rms_norm(self.norm, x, h, eps)
        tape.expert_matmul(self.gates, h, room.gate, choice)
        tape.expert_matmul(self.ups, h, room.up, choice)
        tape.gated_unit(room.gate, room.up, room.gate, Activation.GELU)
        tape.expert_matmul(self.downs, room.gate, room.each, choice)
        tape.expert_sum(room.each, choice, room.total)
        tape.rms_norm(self.post_norm, room.total, y, eps, residual=y)
