"""Jina Embeddings 2: BERT whose scores fall with the distance, with a gated feed-forward.

What is special:
  - each row sees the whole text, so that a text is one run; there is no head
  - to the embedding of a token that of the first sentence is added, and a layer norm follows
  - no positions: a score falls with the distance of row and cell, by a slope of each head (ALiBi)
  - layer norms with a bias after each half of a block and what it is added to
  - a feed-forward gated by gelu, whose gate may be the first half of one matrix; only the product
    after it and those of attention have a bias
  - gelu is the tanh form, as in llama.cpp, where the models were trained with the error function
  - the model for code has further norms, and is refused

Letters: T rows, C width, F feed-forward width, H heads, D head size.
"""

from dataclasses import dataclass

from llm.files.model_file import ModelFile
from llm.gpu.operations import Activation, CacheSlab, Pairing, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models.decoder import DecoderSizes
from llm.models.encoder import EPS, Front, Norm, encoder_program, refuse_causal
from llm.models.rope import Rope
from llm.models.weights import WeightTable

ALIBI = 8.0  # -log2 of the least slope; no key of the file says so


@dataclass(frozen=True, slots=True)
class Block:
    q: Weight  # (H*D, C)
    k: Weight  # (H*D, C)
    v: Weight  # (H*D, C)
    q_bias: Weight  # (1, H*D)
    k_bias: Weight  # (1, H*D)
    v_bias: Weight  # (1, H*D)
    output: Weight  # (C, H*D)
    output_bias: Weight  # (1, C)
    attention_norm: Norm
    gate: Weight  # (F, C)
    up: Weight  # (F, C)
    down: Weight  # (C, F)
    down_bias: Weight  # (1, C)
    norm: Norm

    @classmethod
    def take(cls, table: WeightTable, layer: int, sizes: DecoderSizes) -> "Block":
        width = sizes.width
        prefix = f"blk.{layer}."
        gate, up = _gate_and_up(table, prefix, sizes)
        return cls(
            q=table.matrix(prefix + "attn_q.weight", sizes.queries, width),
            k=table.matrix(prefix + "attn_k.weight", sizes.keys, width),
            v=table.matrix(prefix + "attn_v.weight", sizes.keys, width),
            q_bias=table.vector(prefix + "attn_q.bias", sizes.queries),
            k_bias=table.vector(prefix + "attn_k.bias", sizes.keys),
            v_bias=table.vector(prefix + "attn_v.bias", sizes.keys),
            output=table.matrix(prefix + "attn_output.weight", width, sizes.queries),
            output_bias=table.vector(prefix + "attn_output.bias", width),
            attention_norm=Norm.take(table, prefix + "attn_output_norm", width),
            gate=gate,
            up=up,
            down=table.matrix(prefix + "ffn_down.weight", width, sizes.feed_forward),
            down_bias=table.vector(prefix + "ffn_down.bias", width),
            norm=Norm.take(table, prefix + "layer_output_norm", width),
        )


def program(file: ModelFile, context: int, _max_rows: int, _max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for rows that see only what comes before them, and for the biases of
    norms that only the model for code has."""
    refuse_causal(file, "jina-bert-v2")
    sizes = DecoderSizes.from_gguf(file, "jina-bert-v2", eps=EPS)
    table = WeightTable(file)
    front = Front.take(file, table, sizes.width)
    blocks = [Block.take(table, layer, sizes) for layer in range(sizes.n_layers)]
    table.refuse_others()
    still = Rope.still(sizes.head_size)
    slabs = CacheSlab.of_layers(sizes.n_layers, sizes.keys)

    def record(rows: int) -> Tape:
        tape = Tape(rows, 0)
        x = tape.tensor(sizes.width)  # (T, C)
        q = tape.tensor(sizes.queries)  # (T, H*D)
        k = tape.tensor(sizes.keys)  # (T, H*D)
        v = tape.tensor(sizes.keys)  # (T, H*D)
        mixed = tape.tensor(sizes.queries)  # (T, H*D)
        gate = tape.tensor(sizes.feed_forward)  # (T, F)
        up = tape.tensor(sizes.feed_forward)  # (T, F)
        eps = sizes.norm_eps
        heads, kv_heads = sizes.n_heads, sizes.n_kv_heads

        front.record(tape, x, eps)
        for block, slab in zip(blocks, slabs, strict=True):
            tape.matmul(block.q, x, q)
            tape.matmul(block.k, x, k)
            tape.matmul(block.v, x, v)
            tape.add_biases((block.q_bias, q), (block.k_bias, k), (block.v_bias, v))
            tape.rotate(
                q, still.weight, heads=heads, pairing=Pairing.HALVES, scale=sizes.query_scale
            )
            tape.cache_store(k, v, slab)
            tape.attend(q, slab, mixed, heads=heads, kv_heads=kv_heads, ahead=context, alibi=ALIBI)
            tape.matmul(block.output, mixed, x, residual=x)
            tape.add_biases((block.output_bias, x))
            block.attention_norm.record(tape, x, eps)

            tape.matmul(block.gate, x, gate)
            tape.matmul(block.up, x, up)
            tape.gated_unit(gate, up, gate, Activation.GELU)
            tape.matmul(block.down, gate, x, residual=x)
            tape.add_biases((block.down_bias, x))
            block.norm.record(tape, x, eps)
        tape.hidden = x
        return tape

    return encoder_program(table, still.constants, context, slabs, record)


def _gate_and_up(table: WeightTable, prefix: str, sizes: DecoderSizes) -> list[Weight]:
    heights = (sizes.feed_forward, sizes.feed_forward)
    gate, up = prefix + "ffn_gate.weight", prefix + "ffn_up.weight"
    if table.has(gate):
        return [table.matrix(name, heights[0], sizes.width) for name in (gate, up)]
    return table.pieces(up, heights, sizes.width)
