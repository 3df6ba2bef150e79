"""Gemma 2: decoder with norms before and after each half of a block, and soft caps.

What is special:
  - the embedding is scaled by sqrt(C) and tied to the output
  - RMS norms around attention and around the feed-forward
    (converters bake Gemma's "+ 1" into the stored norm weights)
  - by turns a layer sees a sliding window, and one everything; both rotate alike
  - attention scores are capped by a tanh, and so are logits
  - a gated feed-forward with the tanh form of gelu, no biases

Letters: T rows, C width, F feed-forward width, H query heads, G key/value heads, D head size.
"""

import math
from dataclasses import dataclass

from llm.files.model_file import ModelFile
from llm.gpu.operations import Activation, CacheSlab, Pairing, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models.decoder import DecoderSizes, Ends
from llm.models.rope import Rope
from llm.models.weights import WeightTable, positive
from llm.models.windows import Windows

LAYERS_OF_27B = 46  # its scale comes from C / H, not from D; no key of the file says so


@dataclass(frozen=True, slots=True)
class Block:
    attn_norm: Weight  # (1, C)
    q: Weight  # (H*D, C)
    k: Weight  # (G*D, C)
    v: Weight  # (G*D, C)
    output: Weight  # (C, H*D)
    post_attention_norm: Weight  # (1, C)
    ffn_norm: Weight  # (1, C)
    gate: Weight  # (F, C)
    up: Weight  # (F, C)
    down: Weight  # (C, F)
    post_ffw_norm: Weight  # (1, C)

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
            post_attention_norm=table.vector(prefix + "post_attention_norm.weight", width),
            ffn_norm=table.vector(prefix + "ffn_norm.weight", width),
            gate=table.matrix(prefix + "ffn_gate.weight", sizes.feed_forward, width),
            up=table.matrix(prefix + "ffn_up.weight", sizes.feed_forward, width),
            down=table.matrix(prefix + "ffn_down.weight", width, sizes.feed_forward),
            post_ffw_norm=table.vector(prefix + "post_ffw_norm.weight", width),
        )


def program(file: ModelFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for further biases or norms, or an unknown scaling of positions."""
    sizes = DecoderSizes.from_gguf(file, "gemma2")
    table = WeightTable(file)
    ends = Ends.take(table, sizes.width)
    blocks = [Block.take(table, layer, sizes) for layer in range(sizes.n_layers)]
    table.refuse_others()
    rope = Rope.from_gguf(file, table, "gemma2", sizes.head_size, context)
    windows = Windows.from_gguf(file, "gemma2", sizes.n_layers, period=2, default=4096)
    score_cap, logit_cap = _cap(file, "attn", 50.0), _cap(file, "final", 30.0)
    by_width = sizes.n_layers == LAYERS_OF_27B
    query_scale = sizes.scale_by_width if by_width else sizes.query_scale
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
        y = tape.tensor(sizes.width)  # (T, C), what a half of a block adds
        eps = sizes.norm_eps
        heads, kv_heads = sizes.n_heads, sizes.n_kv_heads

        tape.embed(ends.embedding, x, scale=math.sqrt(sizes.width))
        for block, slab, window in zip(blocks, slabs, windows.sizes, strict=True):
            tape.rms_norm(block.attn_norm, x, h, eps)
            tape.matmul(block.q, h, q)
            tape.matmul(block.k, h, k)
            tape.matmul(block.v, h, v)
            tape.rotate(
                q,
                rope.weight,
                heads=heads,
                pairing=Pairing.HALVES,
                scale=query_scale,
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
            tape.attend(
                q,
                slab,
                mixed,
                heads=heads,
                kv_heads=kv_heads,
                window=window,
                soft_cap=score_cap,
            )
            tape.matmul(block.output, mixed, y)
            tape.rms_norm(block.post_attention_norm, y, x, eps, residual=x)

            tape.rms_norm(block.ffn_norm, x, h, eps)
            tape.matmul(block.gate, h, gate)
            tape.matmul(block.up, h, up)
            tape.gated_unit(gate, up, gate, Activation.GELU)
            tape.matmul(block.down, gate, y)
            tape.rms_norm(block.post_ffw_norm, y, x, eps, residual=x)
        return ends.record(tape, x, eps, soft_cap=logit_cap)

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


def _cap(file: ModelFile, name: str, default: float) -> float:
    key = f"gemma2.{name}_logit_softcapping"
    return positive(file, key, file.metadata.float(key, default=default))
