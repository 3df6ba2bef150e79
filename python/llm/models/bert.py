"""BERT, and what others built to the same plan: MiniLM, BGE, E5, GTE, Arctic Embed.

What is special:
  - each row sees the whole text, so that a text is one run; there is no head
  - to the embedding of a token those of its position and of the first sentence are added
  - layer norms with a bias after each half of a block and what it is added to, and one at first
  - a feed-forward with gelu and without a gate; all products have a bias
  - gelu is the tanh form, as in llama.cpp, where the models were trained with the error function:
    vectors differ in the third digit

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
    up: Weight  # (F, C)
    up_bias: Weight  # (1, F)
    down: Weight  # (C, F)
    down_bias: Weight  # (1, C)
    norm: Norm

    @classmethod
    def take(cls, table: WeightTable, layer: int, sizes: DecoderSizes) -> "Block":
        width = sizes.width
        prefix = f"blk.{layer}."
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
            up=table.matrix(prefix + "ffn_up.weight", sizes.feed_forward, width),
            up_bias=table.vector(prefix + "ffn_up.bias", sizes.feed_forward),
            down=table.matrix(prefix + "ffn_down.weight", width, sizes.feed_forward),
            down_bias=table.vector(prefix + "ffn_down.bias", width),
            norm=Norm.take(table, prefix + "layer_output_norm", width),
        )


def program(file: ModelFile, context: int, _max_rows: int, _max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for rows that see only what comes before them."""
    refuse_causal(file, "bert")
    sizes = DecoderSizes.from_gguf(file, "bert", eps=EPS)
    table = WeightTable(file)
    front = Front.take(file, table, sizes.width, positions=context)
    blocks = [Block.take(table, layer, sizes) for layer in range(sizes.n_layers)]
    still = Rope.still(sizes.head_size)
    slabs = CacheSlab.of_layers(sizes.n_layers, sizes.keys)

    def record(rows: int) -> Tape:
        tape = Tape(rows, 0)
        x = tape.tensor(sizes.width)  # (T, C)
        q = tape.tensor(sizes.queries)  # (T, H*D)
        k = tape.tensor(sizes.keys)  # (T, H*D)
        v = tape.tensor(sizes.keys)  # (T, H*D)
        mixed = tape.tensor(sizes.queries)  # (T, H*D)
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
            tape.attend(q, slab, mixed, heads=heads, kv_heads=kv_heads, ahead=context)
            tape.matmul(block.output, mixed, x, residual=x)
            tape.add_biases((block.output_bias, x))
            block.attention_norm.record(tape, x, eps)

            tape.matmul(block.up, x, up)
            tape.add_biases((block.up_bias, up))
            tape.activate(up, Activation.GELU)
            tape.matmul(block.down, up, x, residual=x)
            tape.add_biases((block.down_bias, x))
            block.norm.record(tape, x, eps)
        tape.hidden = x
        return tape

    return encoder_program(table, still.constants, context, slabs, record)
