"""Per-layer embeddings of Gemma 4: the inputs of all layers, and how a layer takes its own.

Letters as in gemma4.py.
"""

import math
from dataclasses import dataclass

from llm.gpu.operations import Activation, Tensor, Weight
from llm.gpu.tape import Tape
from llm.models.gemma4_config import Gemma4Config
from llm.models.weights import WeightTable


@dataclass(frozen=True, slots=True)
class LayerInputs:
    """What makes the inputs of all layers."""

    table: Weight  # (V, L*P)
    project: Weight  # (L*P, C)
    norm: Weight  # (1, P)

    @classmethod
    def take(cls, table: WeightTable, vocabulary: int, cfg: Gemma4Config) -> "LayerInputs":
        of_all = len(cfg.layers) * cfg.layer_width
        return cls(
            table=table.table("per_layer_token_embd.weight", vocabulary, of_all),
            project=table.matrix("per_layer_model_proj.weight", of_all, cfg.width),
            norm=table.vector("per_layer_proj_norm.weight", cfg.layer_width),
        )

    def record(self, tape: Tape, x: Tensor, inputs: Tensor, cfg: Gemma4Config) -> None:
        """The inputs, (T, L*P), from the embedding (T, C)."""
        projected = tape.tensor(self.table.columns)  # (T, L*P)
        tape.embed(self.table, inputs, scale=math.sqrt(cfg.layer_width))
        tape.matmul(self.project, x, projected)
        tape.rms_norm(
            self.norm,
            projected,
            inputs,
            cfg.norm_eps * cfg.width,  # the same as of what is projected over sqrt(C)
            residual=inputs,
            parts=len(cfg.layers),
            scale=1.0 / math.sqrt(2.0),
        )


@dataclass(frozen=True, slots=True)
class LayerInput:
    """What makes a layer's own embedding a part of the stream."""

    gate: Weight  # (P, C)
    project: Weight  # (C, P)
    norm: Weight  # (1, C)

    @classmethod
    def take(cls, table: WeightTable, prefix: str, cfg: Gemma4Config) -> "LayerInput":
        return cls(
            gate=table.matrix(prefix + "inp_gate.weight", cfg.layer_width, cfg.width),
            project=table.matrix(prefix + "proj.weight", cfg.width, cfg.layer_width),
            norm=table.vector(prefix + "post_norm.weight", cfg.width),
        )

    def record(
        self,
        tape: Tape,
        own: Tensor,
        small: Tensor,
        x: Tensor,
        y: Tensor,
        *,
        eps: float,
        scale: float,
    ) -> None:
        """Adds what `own`, (T, P), makes to the stream x, and scales this.

        `small`, (T, P), and y, (T, C), are room.
        """
        tape.matmul(self.gate, x, small)
        tape.gated_unit(small, own, small, Activation.GELU)
        tape.matmul(self.project, small, y)
        tape.rms_norm(self.norm, y, x, eps, residual=x, scale=scale)
