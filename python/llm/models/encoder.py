"""What the metadata and tensors of encoders have in common.

An encoder makes a vector for each row of a text, and no tokens: it has no head. Each row sees the
whole text, so that all of a text is one run.

Letters: T rows, C width, P positions, V vocabulary.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.model_file import ModelFile
from llm.gpu.operations import CacheSlab, Tensor, Weight
from llm.gpu.program import Floats, Program
from llm.gpu.state import MAX_ROWS
from llm.gpu.tape import Tape
from llm.models.weights import WeightTable

EPS = "layer_norm_epsilon"


@dataclass(frozen=True, slots=True)
class Norm:
    """A layer norm with a bias."""

    weight: Weight  # (1, C)
    bias: Weight  # (1, C)

    @classmethod
    def take(cls, table: WeightTable, name: str, width: int) -> "Norm":
        return cls(table.vector(name + ".weight", width), table.vector(name + ".bias", width))

    def record(self, tape: Tape, x: Tensor, eps: float) -> None:
        """In place."""
        tape.layer_norm(self.weight, x, x, eps, bias=self.bias)


@dataclass(frozen=True, slots=True)
class Front:
    """What stands before the layers of BERT and its kin."""

    embedding: Weight  # (V, C)
    sentence: Weight | None  # (1, C), the type of tokens of a first sentence, which all are
    positions: Weight | None  # (P, C)
    norm: Norm

    @classmethod
    def take(
        cls, file: ModelFile, table: WeightTable, width: int, *, positions: int = 0
    ) -> "Front":
        """With an embedding of so many positions at least; ModelFileError where it has fewer."""
        name = "position_embd.weight"
        if positions and (found := table.rows_of(name)) < positions:
            problem = f"has {found} positions, and the context {positions} tokens"
            raise ModelFileError(file.path, f"tensor {name}", problem)
        return cls(
            table.matrix("token_embd.weight", table.rows_of("token_embd.weight"), width),
            table.first_row("token_types.weight", width),
            table.floats(name, table.rows_of(name), width) if positions else None,
            Norm.take(table, "token_embd_norm", width),
        )

    def record(self, tape: Tape, x: Tensor, eps: float) -> None:
        """What the first layer reads goes to `x` (T, C)."""
        tape.embed(self.embedding, x)
        if self.sentence is not None:
            tape.add_biases((self.sentence, x))
        if self.positions is not None:
            tape.add_positions(self.positions, x)
        self.norm.record(tape, x, eps)


def refuse_causal(file: ModelFile, architecture: str) -> None:
    """UnsupportedModelError where rows should see only what comes before them."""
    key = f"{architecture}.attention.causal"
    if file.metadata.bool(key, default=False):
        raise UnsupportedModelError(file.path, key, "true", ["false"])


def encoder_program(
    table: WeightTable,
    constants: Mapping[str, Floats],
    context: int,
    slabs: Sequence[CacheSlab],
    record: Callable[[int], Tape],
) -> Program:
    """`record` takes the most rows of a run."""
    return Program(
        weights=table.taken,
        constants=constants,
        vocabulary=0,
        context=context,
        page_words=slabs[-1].end,
        max_rows=min(context, MAX_ROWS),
        max_outputs=0,
        record=lambda rows, _outputs: record(rows),
    )
