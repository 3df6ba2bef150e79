"""Llama (1 to 3), and what others built to the same plan: Mistral, TinyLlama, SmolLM, Yi.

Files of Mixtral say that they are llama, too: see mixtral.py.

What is special:
  - RMS norms before each half of a block, plain residual adds, a gated feed-forward with SiLU
  - converters order the rows of queries and keys so that rotation turns neighbours (2i, 2i + 1)
  - Llama 3.1 and later divide each rotary frequency by a factor that the file holds
  - any product of a block may have a bias; those of the named models have none
  - the output is a matrix of its own, or tied to the embedding where the file has none
  - every layer sees everything; the window of the first Mistral is ignored, as in llama.cpp

Letters: T rows, C width, F feed-forward width, H query heads, G key/value heads, D head size.
"""

from dataclasses import dataclass

from llm.files.model_file import ModelFile
from llm.gpu.operations import Activation, CacheSlab, Pairing, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models import mixtral
from llm.models.decoder import DecoderSizes, Ends
from llm.models.rope import Rope
from llm.models.weights import WeightTable


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
    UnsupportedModelError for other norms or an unknown scaling of positions."""
    if file.metadata.int("llama.expert_count", default=0):
        return mixtral.program(file, context, max_rows, max_outputs)
    sizes = DecoderSizes.from_gguf(file, "llama")
    table = WeightTable(file)
    ends = Ends.take(table, sizes.width)
    blocks = [Block.take(table, layer, sizes) for layer in range(sizes.n_layers)]
    table.refuse_others()
    rope = Rope.from_gguf(file, table, "llama", sizes.head_size, context)
    slabs = CacheSlab.of_layers(sizes.n_layers, sizes.keys)

    def record(rows: int, outputs: int) -> Tape:
        tape = Tape(rows, outputs)
        x = tape.tensor(sizes.width)  # (T, C), the residual stream
        h = tape.tensor(sizes.width)  # (T, C)
        q = tape.tensor(sizes.queries)  # (T, H*D)
        k = tape.tensor(sizes.keys)  # (T, G*D)
        v = tape.tensor(sizes.keys)  # (T, G*D)
        mixed = tape.tensor(sizes.queries)  # (T, H*D)
        gate = tape.tensor(sizes.feed_forward)  # (T, F)
        up = tape.tensor(sizes.feed_forward)  # (T, F)
        eps = sizes.norm_eps
        heads, kv_heads = sizes.n_heads, sizes.n_kv_heads

        tape.embed(ends.embedding, x)
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
                scale=sizes.query_scale,
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
        return ends.record(tape, x, eps)

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
