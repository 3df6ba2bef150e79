"""What the metadata and tensors of most decoders have in common.

Letters: T rows, O output rows, C width, F feed-forward width, H query heads, G key/value heads,
D head size, V vocabulary.
"""

import math
from dataclasses import dataclass

from llm.errors import ModelFileError
from llm.files.model_file import ModelFile
from llm.gpu.operations import Count, Tensor, Weight
from llm.gpu.tape import Tape
from llm.models.weights import WeightTable, positive

MAX_HEAD_SIZE = 512  # shared memory of the attention kernel


@dataclass(frozen=True, slots=True)
class DecoderSizes:
    """Those of a decoder whose layers are all of one size."""

    n_layers: int
    width: int  # C
    feed_forward: int  # F
    n_heads: int  # H
    n_kv_heads: int  # G
    head_size: int  # D
    norm_eps: float

    @classmethod
    def from_gguf(
        cls, file: ModelFile, architecture: str, eps: str = "layer_norm_rms_epsilon"
    ) -> "DecoderSizes":
        """`eps` names the key of that. Raises ModelFileError where one is missing, or does not fit
        the others."""
        meta = file.metadata

        def size(name: str, default: int | None = None) -> int:
            key = f"{architecture}.{name}"
            value = meta.int(key) if default is None else meta.int(key, default=default)
            if value < 1:
                raise ModelFileError(file.path, key, f"{value} is not >= 1")
            return value

        width = size("embedding_length")
        n_heads = size("attention.head_count")
        eps_key = f"{architecture}.attention.{eps}"
        sizes = cls(
            n_layers=size("block_count"),
            width=width,
            feed_forward=size("feed_forward_length"),
            n_heads=n_heads,
            n_kv_heads=size("attention.head_count_kv", n_heads),
            head_size=size("attention.key_length", width // n_heads),
            norm_eps=positive(file, eps_key, meta.float(eps_key)),
        )
        if sizes.n_heads % sizes.n_kv_heads:
            problem = f"{n_heads} heads do not share {sizes.n_kv_heads} key/value heads evenly"
            raise ModelFileError(file.path, f"{architecture}.attention.head_count", problem)
        if sizes.head_size % 8 or sizes.head_size > MAX_HEAD_SIZE:
            problem = f"{sizes.head_size} is not a multiple of 8 up to {MAX_HEAD_SIZE}"
            raise ModelFileError(file.path, f"{architecture}.attention.key_length", problem)
        return sizes

    @property
    def queries(self) -> int:
        return self.n_heads * self.head_size  # H*D

    @property
    def keys(self) -> int:
        return self.n_kv_heads * self.head_size  # G*D

    @property
    def query_scale(self) -> float:
        """Of scores, where the architecture has no other: 1 / sqrt(D)."""
        return 1.0 / math.sqrt(self.head_size)

    @property
    def scale_by_width(self) -> float:
        """That of the Gemmas of 27B: 1 / sqrt(C / H)."""
        return 1.0 / math.sqrt(self.width // self.n_heads)


@dataclass(frozen=True, slots=True)
class Ends:
    """What stands before the layers and after them."""

    embedding: Weight  # (V, C)
    norm: Weight  # (1, C)
    head: Weight  # (V, C), the embedding where the file has no other
    is_centred: bool = False  # LayerNorm instead of RMSNorm
    bias: Weight | None = None  # (1, C), of a LayerNorm

    @classmethod
    def take(
        cls, table: WeightTable, width: int, *, norm: str = "output_norm", is_centred: bool = False
    ) -> "Ends":
        """`norm` is the name of the output norm's tensors."""
        vocabulary = table.rows_of("token_embd.weight")
        embedding = table.matrix("token_embd.weight", vocabulary, width)
        head = (
            table.matrix("output.weight", vocabulary, width)
            if table.has("output.weight")
            else embedding
        )
        bias = table.vector_or_none(f"{norm}.bias", width) if is_centred else None
        return cls(embedding, table.vector(f"{norm}.weight", width), head, is_centred, bias)

    @property
    def vocabulary(self) -> int:
        return self.embedding.rows

    def record(
        self, tape: Tape, x: Tensor, eps: float, *, scale: float = 1.0, soft_cap: float = 0.0
    ) -> Tape:
        """The output norm of the residual stream `x` (T, C), and the logits of the output rows,
        scaled and capped; or, in a tape without outputs, the normed rows."""
        if tape.outputs == 0:
            tape.hidden = tape.tensor(x.width)  # (T, C)
            self._norm(tape, x, tape.hidden, eps, Count.ROWS)
            return tape
        last = tape.tensor(x.width, of=Count.OUTPUTS)  # (O, C)
        normed = tape.tensor(x.width, of=Count.OUTPUTS)  # (O, C)
        tape.logits = tape.tensor(self.vocabulary, of=Count.OUTPUTS)  # (O, V)
        tape.select_rows(x, last)
        self._norm(tape, last, normed, eps, Count.OUTPUTS)
        tape.matmul(self.head, normed, tape.logits, count=Count.OUTPUTS)
        if scale != 1.0 or soft_cap:
            tape.scale_logits(tape.logits, scale=scale, soft_cap=soft_cap)
        return tape

    def _norm(self, tape: Tape, x: Tensor, y: Tensor, eps: float, count: Count) -> None:
        if self.is_centred:
            tape.layer_norm(self.norm, x, y, eps, bias=self.bias, count=count)
        else:
            tape.rms_norm(self.norm, x, y, eps, count=count)
