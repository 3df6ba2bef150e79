"""What the metadata say of a layer's experts, checked; and the expert that every token uses."""

from dataclasses import dataclass

from llm.errors import UnsupportedModelError
from llm.files.model_file import ModelFile
from llm.gpu.operations import MAX_EXPERTS, MAX_USED, Activation, Tensor, Weight
from llm.gpu.tape import Tape
from llm.models.weights import WeightTable


@dataclass(frozen=True, slots=True)
class ExpertSizes:
    count: int  # E
    used: int  # U, by a token
    feed_forward: int  # F of one expert

    @classmethod
    def from_gguf(
        cls, file: ModelFile, architecture: str, feed_forward: int | None = None
    ) -> "ExpertSizes":
        """`feed_forward`: of files that give the experts' width under no key of its own.

        Raises ModelFileError, and UnsupportedModelError for more experts than the kernels choose
        from.
        """
        meta = file.metadata
        count = meta.int(f"{architecture}.expert_count", minimum=1)
        used = meta.int(f"{architecture}.expert_used_count", minimum=1, maximum=count)
        for key, value, most in (
            ("expert_count", count, MAX_EXPERTS),
            ("expert_used_count", used, MAX_USED),
        ):
            if value > most:
                raise UnsupportedModelError(
                    file.path, f"{architecture}.{key}", value, [f"up to {most}"]
                )
        key = f"{architecture}.expert_feed_forward_length"
        if feed_forward is None:
            return cls(count, used, meta.int(key, minimum=1))
        return cls(count, used, meta.int(key, default=feed_forward, minimum=1))


@dataclass(frozen=True, slots=True)
class SharedExpert:
    """A feed-forward that every token uses, beside those that it chooses. S is its width."""

    gate: Weight  # (S, C)
    up: Weight  # (S, C)
    down: Weight  # (C, S)

    @classmethod
    def take(cls, table: WeightTable, prefix: str, size: int, width: int) -> "SharedExpert":
        return cls(
            gate=table.matrix(prefix + "ffn_gate_shexp.weight", size, width),
            up=table.matrix(prefix + "ffn_up_shexp.weight", size, width),
            down=table.matrix(prefix + "ffn_down_shexp.weight", width, size),
        )

    def record(
        self, tape: Tape, h: Tensor, gate: Tensor, up: Tensor, y: Tensor, residual: Tensor | None
    ) -> None:
        """`gate` and `up` are room, (T, S) each."""
        tape.matmul(self.gate, h, gate)
        tape.matmul(self.up, h, up)
        tape.gated_unit(gate, up, gate, Activation.SILU)
        tape.matmul(self.down, gate, y, residual=residual)
