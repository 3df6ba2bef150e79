"""Command R7B and Command A (Cohere 2): Command R's plan, with windows.

What is special:
  - LayerNorms without a bias, one a block: attention and feed-forward both read it, and both add
    to the residual stream
  - 3 of 4 layers see a sliding window and rotate neighbours (2i, 2i + 1); the fourth sees
    everything and has no positions
  - the output is tied to the embedding, and logits are scaled

Letters: T rows, C width, F feed-forward width, H query heads, G key/value heads, D head size.
"""

from dataclasses import dataclass

from llm.files.model_file import ModelFile
from llm.gpu.operations import Activation, CacheSlab, Pairing, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models.decoder import DecoderSizes, Ends
from llm.models.rope import Rope
from llm.models.weights import WeightTable, positive
from llm.models.windows import Windows


@dataclass(frozen=True, slots=True)
class Block:
    attn_norm: Weight  # (1, C)
    q: Weight  # (H*D, C)
    k: Weight  # (G*D, C)
    v: Weight  # (G*D, C)
    output: Weight  # (C, H*D)
    gate: Weight  # (F, C)
    up: Weight  # (F, C)
    down: Weight  # (C, F)

    @classmethod
    def take(cls, table: WeightTable, layer: int, sizes: DecoderSizes) -> "Block":
        width = sizes.width
        prefix = f"blk.{layer}."
        return cls(
            attn_norm=table.vector(prefix + "attn_norm.weight", width),
            q=table.matrix(prefix + "attn_q.weight", sizes.queries, width),
            k=table.matrix(prefix + "attn_k.weight", sizes.keys, width),
            v=table.matrix(prefix + "attn_v.weight", sizes.keys, width),
            output=table.matrix(prefix + "attn_output.weight", width, sizes.queries),
            gate=table.matrix(prefix + "ffn_gate.weight", sizes.feed_forward, width),
            up=table.matrix(prefix + "ffn_up.weight", sizes.feed_forward, width),
            down=table.matrix(prefix + "ffn_down.weight", width, sizes.feed_forward),
        )


def program(file: ModelFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for further biases or norms, or an unknown scaling of positions."""
    sizes = DecoderSizes.from_gguf(file, "cohere2", eps="layer_norm_epsilon")
    table = WeightTable(file)
    scale_key = "cohere2.logit_scale"
    logit_scale = positive(file, scale_key, file.metadata.float(scale_key))
    windows = Windows.from_gguf(file, "cohere2", sizes.n_layers, period=4)
    ends = Ends.take(table, sizes.width, is_centred=True)
    blocks = [Block.take(table, layer, sizes) for layer in range(sizes.n_layers)]
    table.refuse_others()
    rope = Rope.from_gguf(file, table, "cohere2", sizes.head_size, context)
    still = Rope.still(sizes.head_size)
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
        for block, slab, window in zip(blocks, slabs, windows.sizes, strict=True):
            turns = rope if window else still
            tape.layer_norm(block.attn_norm, x, h, eps)
            tape.matmul(block.q, h, q)
            tape.matmul(block.k, h, k)
            tape.matmul(block.v, h, v)
            tape.rotate(
                q,
                turns.weight,
                heads=heads,
                pairing=Pairing.ADJACENT,
                scale=sizes.query_scale,
                magnitude=turns.magnitude,
            )
            tape.rotate(
                k,
                turns.weight,
                heads=kv_heads,
                pairing=Pairing.ADJACENT,
                magnitude=turns.magnitude,
            )
            tape.cache_store(k, v, slab)
            tape.attend(
                q,
                slab,
                mixed,
                heads=heads,
                kv_heads=kv_heads,
                window=window,
            )
            tape.matmul(block.output, mixed, x, residual=x)

            tape.matmul(block.gate, h, gate)
            tape.matmul(block.up, h, up)
            tape.gated_unit(gate, up, gate, Activation.SILU)
            tape.matmul(block.down, gate, x, residual=x)
        return ends.record(tape, x, eps, scale=logit_scale)

    return Program(
        weights=table.taken,
        constants={**rope.constants, **still.constants},
        vocabulary=ends.vocabulary,
        context=context,
        page_words=slabs[-1].end,
        max_rows=max_rows,
        max_outputs=max_outputs,
        record=record,
    )
