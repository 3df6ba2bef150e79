"""StableLM (3B, and 2 of 1.6B): Llama's plan, with LayerNorms.

What is special:
  - LayerNorms with a bias before each half of a block
  - queries, keys and values may have a bias
  - rotation turns values of the first part of a head, half of that part apart
  - StableLM 2 of 12B, which norms queries and keys, is not run

Letters: T rows, C width, F feed-forward width, H query heads, G key/value heads, D head size.
"""

from dataclasses import dataclass

from llm.files.model_file import ModelFile
from llm.gpu.operations import Activation, CacheSlab, Pairing, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models.decoder import DecoderSizes, Ends
from llm.models.rope import Rope
from llm.models.weights import WeightTable


@dataclass(frozen=True, slots=True)
class Block:
    attn_norm: Weight  # (1, C)
    attn_norm_bias: Weight  # (1, C)
    q: Weight  # (H*D, C)
    k: Weight  # (G*D, C)
    v: Weight  # (G*D, C)
    q_bias: Weight | None  # (1, H*D)
    k_bias: Weight | None  # (1, G*D)
    v_bias: Weight | None  # (1, G*D)
    output: Weight  # (C, H*D)
    ffn_norm: Weight  # (1, C)
    ffn_norm_bias: Weight  # (1, C)
    gate: Weight  # (F, C)
    up: Weight  # (F, C)
    down: Weight  # (C, F)

    @classmethod
    def take(cls, table: WeightTable, layer: int, sizes: DecoderSizes) -> "Block":
        width = sizes.width
        prefix = f"blk.{layer}."
        return cls(
            attn_norm=table.vector(prefix + "attn_norm.weight", width),
            attn_norm_bias=table.vector(prefix + "attn_norm.bias", width),
            q=table.matrix(prefix + "attn_q.weight", sizes.queries, width),
            k=table.matrix(prefix + "attn_k.weight", sizes.keys, width),
            v=table.matrix(prefix + "attn_v.weight", sizes.keys, width),
            q_bias=table.vector_or_none(prefix + "attn_q.bias", sizes.queries),
            k_bias=table.vector_or_none(prefix + "attn_k.bias", sizes.keys),
            v_bias=table.vector_or_none(prefix + "attn_v.bias", sizes.keys),
            output=table.matrix(prefix + "attn_output.weight", width, sizes.queries),
            ffn_norm=table.vector(prefix + "ffn_norm.weight", width),
            ffn_norm_bias=table.vector(prefix + "ffn_norm.bias", width),
            gate=table.matrix(prefix + "ffn_gate.weight", sizes.feed_forward, width),
            up=table.matrix(prefix + "ffn_up.weight", sizes.feed_forward, width),
            down=table.matrix(prefix + "ffn_down.weight", width, sizes.feed_forward),
        )


def program(file: ModelFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for further biases or norms, or an unknown scaling of positions."""
    sizes = DecoderSizes.from_gguf(file, "stablelm", eps="layer_norm_epsilon")
    table = WeightTable(file)
    ends = Ends.take(table, sizes.width, is_centred=True)
    blocks = [Block.take(table, layer, sizes) for layer in range(sizes.n_layers)]
    table.refuse_others()
    rope = Rope.from_gguf(file, table, "stablelm", sizes.head_size, context)
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
            tape.layer_norm(block.attn_norm, x, h, eps, bias=block.attn_norm_bias)
            tape.matmul(block.q, h, q)
            tape.matmul(block.k, h, k)
            tape.matmul(block.v, h, v)
            tape.add_biases((block.q_bias, q), (block.k_bias, k), (block.v_bias, v))
            tape.rotate(
                q,
                rope.weight,
                heads=heads,
                pairing=Pairing.HALVES,
                scale=sizes.query_scale,
                magnitude=rope.magnitude,
            )
            tape.rotate(
                k,
                rope.weight,
                heads=kv_heads,
                pairing=Pairing.HALVES,
                magnitude=rope.magnitude,
            )
            tape.cache_store(k, v, slab)
            tape.attend(q, slab, mixed, heads=heads, kv_heads=kv_heads)
            tape.matmul(block.output, mixed, x, residual=x)

            tape.layer_norm(block.ffn_norm, x, h, eps, bias=block.ffn_norm_bias)
            tape.matmul(block.gate, h, gate)
            tape.matmul(block.up, h, up)
            tape.gated_unit(gate, up, gate, Activation.SILU)
            tape.matmul(block.down, gate, x, residual=x)
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
