"""EmbeddingGemma: the blocks of Gemma 3 as an encoder.

What is special:
  - each row sees the whole text, so that a text is one run; there is no head
  - the embedding is scaled by sqrt(C)
  - RMS norms around attention and around the feed-forward, on queries and on keys
    (converters bake Gemma's "+ 1" into the stored norm weights)
  - 5 of 6 layers see a window, half of it before a row and half after it, and rotate by base
    10,000; every sixth sees everything
  - a gated feed-forward with the tanh form of gelu, no biases
  - the file may have two matrices through which the pooled vector goes; as they are linear, each
    row goes through them before the pooling

Letters: T rows, C width, F feed-forward width, H query heads, G key/value heads, D head size.
"""

import math
from dataclasses import dataclass

from llm.files.model_file import ModelFile
from llm.gpu.operations import Activation, CacheSlab, Pairing, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models.decoder import DecoderSizes
from llm.models.encoder import encoder_program
from llm.models.rope import Rope
from llm.models.weights import WeightTable, positive


@dataclass(frozen=True, slots=True)
class Windows:
    rope_base: float
    half: int  # tokens before a row, and as many after it, that most layers see
    pattern: int  # every so many layers one sees everything

    @classmethod
    def from_gguf(cls, file: ModelFile) -> "Windows":
        meta = file.metadata
        base_key = "gemma-embedding.rope.freq_base_swa"
        return cls(
            rope_base=positive(file, base_key, meta.float(base_key, default=10_000.0)),
            half=meta.int("gemma-embedding.attention.sliding_window", minimum=1) // 2,
            pattern=meta.int(
                "gemma-embedding.attention.sliding_window_pattern", default=6, minimum=1
            ),
        )


@dataclass(frozen=True, slots=True)
class Block:
    attn_norm: Weight  # (1, C)
    q: Weight  # (H*D, C)
    k: Weight  # (G*D, C)
    v: Weight  # (G*D, C)
    q_norm: Weight  # (1, D)
    k_norm: Weight  # (1, D)
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
            q_norm=table.vector(prefix + "attn_q_norm.weight", sizes.head_size),
            k_norm=table.vector(prefix + "attn_k_norm.weight", sizes.head_size),
            output=table.matrix(prefix + "attn_output.weight", width, sizes.queries),
            post_attention_norm=table.vector(prefix + "post_attention_norm.weight", width),
            ffn_norm=table.vector(prefix + "ffn_norm.weight", width),
            gate=table.matrix(prefix + "ffn_gate.weight", sizes.feed_forward, width),
            up=table.matrix(prefix + "ffn_up.weight", sizes.feed_forward, width),
            down=table.matrix(prefix + "ffn_down.weight", width, sizes.feed_forward),
            post_ffw_norm=table.vector(prefix + "post_ffw_norm.weight", width),
        )


def program(file: ModelFile, context: int, _max_rows: int, _max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for biases and unknown scalings of positions."""
    sizes = DecoderSizes.from_gguf(file, "gemma-embedding")
    table = WeightTable(file)
    vocabulary = table.rows_of("token_embd.weight")
    embedding = table.matrix("token_embd.weight", vocabulary, sizes.width)
    norm = table.vector("output_norm.weight", sizes.width)
    blocks = [Block.take(table, layer, sizes) for layer in range(sizes.n_layers)]
    rope = Rope.from_gguf(file, table, "gemma-embedding", sizes.head_size, context)
    windows = Windows.from_gguf(file)
    window_rope = Rope.plain("rope.window", sizes.head_size, windows.rope_base)
    after = _after_pooling(table, sizes.width)
    table.refuse_others()
    slabs = CacheSlab.of_layers(sizes.n_layers, sizes.keys)

    def record(rows: int) -> Tape:
        tape = Tape(rows, 0)
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

        tape.embed(embedding, x, scale=math.sqrt(sizes.width))
        for layer, (block, slab) in enumerate(zip(blocks, slabs, strict=True)):
            everything = layer % windows.pattern == windows.pattern - 1
            turns = rope if everything else window_rope
            tape.rms_norm(block.attn_norm, x, h, eps)
            tape.matmul(block.q, h, q)
            tape.matmul(block.k, h, k)
            tape.matmul(block.v, h, v)
            tape.rotate(
                q,
                turns.weight,
                heads=heads,
                pairing=Pairing.HALVES,
                norm=block.q_norm,
                eps=eps,
                scale=sizes.query_scale,
                magnitude=turns.magnitude,
            )
            tape.rotate(
                k,
                turns.weight,
                heads=kv_heads,
                pairing=Pairing.HALVES,
                norm=block.k_norm,
                eps=eps,
                magnitude=turns.magnitude,
            )
            tape.cache_store(k, v, slab)
            tape.attend(
                q,
                slab,
                mixed,
                heads=heads,
                kv_heads=kv_heads,
                window=0 if everything else windows.half + 1,
                ahead=context if everything else windows.half,
            )
            tape.matmul(block.output, mixed, y)
            tape.rms_norm(block.post_attention_norm, y, x, eps, residual=x)

            tape.rms_norm(block.ffn_norm, x, h, eps)
            tape.matmul(block.gate, h, gate)
            tape.matmul(block.up, h, up)
            tape.gated_unit(gate, up, gate, Activation.GELU)
            tape.matmul(block.down, gate, y)
            tape.rms_norm(block.post_ffw_norm, y, x, eps, residual=x)
        tape.rms_norm(norm, x, h, eps)
        tape.hidden = h
        for weight in after:
            made = tape.tensor(weight.rows)
            tape.matmul(weight, tape.hidden, made)
            tape.hidden = made
        return tape

    constants = {**rope.constants, **window_rope.constants}
    return encoder_program(table, constants, context, slabs, record)


def _after_pooling(table: WeightTable, width: int) -> list[Weight]:
    """Each reads what the one before it makes."""
    found: list[Weight] = []
    for name in ("dense_2.weight", "dense_3.weight"):
        if table.has(name):
            columns = found[-1].rows if found else width
            found.append(table.matrix(name, table.rows_of(name), columns))
    return found
