"""Granite (3 and later, dense): Llama's plan, with scales.

What is special:
  - scales of the embedding, of scores, and of logits (which are divided by theirs)
  - what a half of a block adds is scaled, too. The tape keeps the residual stream divided by that
    scale instead: norms undo it, with an eps divided by its square, and nothing is left to multiply
  - rotation turns neighbours (2i, 2i + 1); any product of a block may have a bias

Letters: T rows, C width, F feed-forward width, H query heads, G key/value heads, D head size.
"""

from dataclasses import dataclass

from llm.errors import UnsupportedModelError
from llm.files.model_file import ModelFile
from llm.gpu.operations import Activation, CacheSlab, Pairing, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models.decoder import DecoderSizes, Ends
from llm.models.rope import Rope
from llm.models.weights import WeightTable, positive


@dataclass(frozen=True, slots=True)
class GraniteScales:
    embedding: float
    residual: float  # of what each half of a block adds
    attention: float | None  # of scores; the usual one where None
    logits: float  # they are divided by it

    @classmethod
    def from_gguf(cls, file: ModelFile) -> "GraniteScales":
        meta = file.metadata

        def scale(name: str, default: float | None = None) -> float:
            key = f"granite.{name}"
            value = meta.float(key) if default is None else meta.float(key, default=default)
            return positive(file, key, value)

        return cls(
            embedding=scale("embedding_scale", 1.0),
            residual=scale("residual_scale", 1.0),
            attention=scale("attention.scale") if "granite.attention.scale" in meta else None,
            logits=scale("logit_scale"),
        )


@dataclass(frozen=True, slots=True)
class Block:
    attn_norm: Weight  # (1, C)
    q: Weight  # (H*D, C)
    k: Weight  # (G*D, C)
    v: Weight  # (G*D, C)
    q_bias: Weight | None  # (1, H*D)
    k_bias: Weight | None  # (1, G*D)
    v_bias: Weight | None  # (1, G*D)
    output: Weight  # (C, H*D)
    output_bias: Weight | None  # (1, C)
    ffn_norm: Weight  # (1, C)
    gate: Weight  # (F, C)
    up: Weight  # (F, C)
    down: Weight  # (C, F)
    gate_bias: Weight | None  # (1, F)
    up_bias: Weight | None  # (1, F)
    down_bias: Weight | None  # (1, C)

    @classmethod
    def take(cls, table: WeightTable, layer: int, sizes: DecoderSizes) -> "Block":
        width = sizes.width
        prefix = f"blk.{layer}."
        return cls(
            attn_norm=table.vector(prefix + "attn_norm.weight", width),
            q=table.matrix(prefix + "attn_q.weight", sizes.queries, width),
            k=table.matrix(prefix + "attn_k.weight", sizes.keys, width),
            v=table.matrix(prefix + "attn_v.weight", sizes.keys, width),
            q_bias=table.vector_or_none(prefix + "attn_q.bias", sizes.queries),
            k_bias=table.vector_or_none(prefix + "attn_k.bias", sizes.keys),
            v_bias=table.vector_or_none(prefix + "attn_v.bias", sizes.keys),
            output=table.matrix(prefix + "attn_output.weight", width, sizes.queries),
            output_bias=table.vector_or_none(prefix + "attn_output.bias", width),
            ffn_norm=table.vector(prefix + "ffn_norm.weight", width),
            gate=table.matrix(prefix + "ffn_gate.weight", sizes.feed_forward, width),
            up=table.matrix(prefix + "ffn_up.weight", sizes.feed_forward, width),
            down=table.matrix(prefix + "ffn_down.weight", width, sizes.feed_forward),
            gate_bias=table.vector_or_none(prefix + "ffn_gate.bias", sizes.feed_forward),
            up_bias=table.vector_or_none(prefix + "ffn_up.bias", sizes.feed_forward),
            down_bias=table.vector_or_none(prefix + "ffn_down.bias", width),
        )


def program(file: ModelFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for experts, other norms, or an unknown scaling of positions."""
    n_experts = file.metadata.int("granite.expert_count", default=0)
    if n_experts:
        raise UnsupportedModelError(
            file.path, "granite.expert_count", n_experts, ["models without experts"]
        )
    sizes = DecoderSizes.from_gguf(file, "granite")
    table = WeightTable(file)
    ends = Ends.take(table, sizes.width)
    blocks = [Block.take(table, layer, sizes) for layer in range(sizes.n_layers)]
    table.refuse_others()
    rope = Rope.from_gguf(file, table, "granite", sizes.head_size, context)
    scales = GraniteScales.from_gguf(file)
    slabs = CacheSlab.of_layers(sizes.n_layers, sizes.keys)

    def record(rows: int, outputs: int) -> Tape:
        tape = Tape(rows, outputs)
        x = tape.tensor(sizes.width)  # (T, C), the residual stream over its scale
        h = tape.tensor(sizes.width)  # (T, C)
        q = tape.tensor(sizes.queries)  # (T, H*D)
        k = tape.tensor(sizes.keys)  # (T, G*D)
        v = tape.tensor(sizes.keys)  # (T, G*D)
        mixed = tape.tensor(sizes.queries)  # (T, H*D)
        gate = tape.tensor(sizes.feed_forward)  # (T, F)
        up = tape.tensor(sizes.feed_forward)  # (T, F)
        eps = sizes.norm_eps / scales.residual**2
        heads, kv_heads = sizes.n_heads, sizes.n_kv_heads

        tape.embed(ends.embedding, x, scale=scales.embedding / scales.residual)
        for block, slab in zip(blocks, slabs, strict=True):
            tape.rms_norm(block.attn_norm, x, h, eps)
            tape.matmul(block.q, h, q)
            tape.matmul(block.k, h, k)
            tape.matmul(block.v, h, v)
            tape.add_biases((block.q_bias, q), (block.k_bias, k), (block.v_bias, v))
            tape.rotate(
                q,
                rope.weight,
                heads=heads,
                pairing=Pairing.ADJACENT,
                scale=scales.attention or sizes.query_scale,
                magnitude=rope.magnitude,
            )
            tape.rotate(
                k,
                rope.weight,
                heads=kv_heads,
                pairing=Pairing.ADJACENT,
                magnitude=rope.magnitude,
            )
            tape.cache_store(k, v, slab)
            tape.attend(q, slab, mixed, heads=heads, kv_heads=kv_heads)
            tape.matmul(block.output, mixed, x, residual=x)
            tape.add_biases((block.output_bias, x))

            tape.rms_norm(block.ffn_norm, x, h, eps)
            tape.matmul(block.gate, h, gate)
            tape.matmul(block.up, h, up)
            tape.add_biases((block.gate_bias, gate), (block.up_bias, up))
            tape.gated_unit(gate, up, gate, Activation.SILU)
            tape.matmul(block.down, gate, x, residual=x)
            tape.add_biases((block.down_bias, x))
        return ends.record(tape, x, eps, scale=1.0 / scales.logits)

    return Program(
        weights=table.taken,
        constants=rope.constants,
        vocabulary=ends.vocabulary,
        context=context,
        page_words=slabs[-1].end,
        max_rows=max_rows,
        max_outputs=max_outputs,
        record=record,
    )
