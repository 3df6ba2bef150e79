"""Nomic Embed Text (1 and 1.5): BERT with rotary positions and a gated feed-forward.

What is special:
  - each row sees the whole text, so that a text is one run; there is no head
  - to the embedding of a token that of the first sentence is added, and a layer norm follows
  - layer norms with a bias after each half of a block and what it is added to
  - queries, keys and values come from one matrix, without a bias; rotation turns halves
  - a gated feed-forward with SiLU, without biases

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
    output: Weight  # (C, H*D)
    attention_norm: Norm
    gate: Weight  # (F, C)
    up: Weight  # (F, C)
    down: Weight  # (C, F)
    norm: Norm

    @classmethod
    def take(cls, table: WeightTable, layer: int, sizes: DecoderSizes) -> "Block":
        width = sizes.width
        prefix = f"blk.{layer}."
        heights = (sizes.queries, sizes.keys, sizes.keys)
        q, k, v = table.pieces(prefix + "attn_qkv.weight", heights, width)
        return cls(
            q=q,
            k=k,
            v=v,
            output=table.matrix(prefix + "attn_output.weight", width, sizes.queries),
            attention_norm=Norm.take(table, prefix + "attn_output_norm", width),
            gate=table.matrix(prefix + "ffn_gate.weight", sizes.feed_forward, width),
            up=table.matrix(prefix + "ffn_up.weight", sizes.feed_forward, width),
            down=table.matrix(prefix + "ffn_down.weight", width, sizes.feed_forward),
            norm=Norm.take(table, prefix + "layer_output_norm", width),
        )


def program(file: ModelFile, context: int, _max_rows: int, _max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for biases of products, unknown scalings of positions and rows that see
    only what comes before them."""
    refuse_causal(file, "nomic-bert")
    sizes = DecoderSizes.from_gguf(file, "nomic-bert", eps=EPS)
    table = WeightTable(file)
    front = Front.take(file, table, sizes.width)
    blocks = [Block.take(table, layer, sizes) for layer in range(sizes.n_layers)]
    table.refuse_others()
    rope = Rope.from_gguf(file, table, "nomic-bert", sizes.head_size, context)
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
            tape.rotate(
                q,
                rope.weight,
                heads=heads,
                pairing=Pairing.HALVES,
                scale=sizes.query_scale,
                magnitude=rope.magnitude,
            )
            tape.rotate(
                k, rope.weight, heads=kv_heads, pairing=Pairing.HALVES, magnitude=rope.magnitude
            )
            tape.cache_store(k, v, slab)
            tape.attend(q, slab, mixed, heads=heads, kv_heads=kv_heads, ahead=context)
            tape.matmul(block.output, mixed, x, residual=x)
            block.attention_norm.record(tape, x, eps)

            tape.matmul(block.gate, x, gate)
            tape.matmul(block.up, x, up)
            tape.gated_unit(gate, up, gate, Activation.SILU)
            tape.matmul(block.down, gate, x, residual=x)
            block.norm.record(tape, x, eps)
        tape.hidden = x
        return tape

    return encoder_program(table, rope.constants, context, slabs, record)
