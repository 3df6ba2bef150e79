"""Llama (1 to 3), and what others built to the same plan: Mistral, TinyLlama, SmolLM, Yi.

Files of Mixtral say that they are llama, too: see mixtral.py.

What is special:
  - RMS norms before each half of a block, plain residual adds, a gated feed-forward with SiLU
  - converters order the rows of queries and keys so that rotation turns neighbours (2i, 2i + 1)
  - Llama 3.1 and later divide each rotary frequency by a factor that the file holds
  - the output is a matrix of its own, or tied to the embedding where the file has none
  - every layer sees everything; the window of the first Mistral is ignored, as in llama.cpp

Letters: T rows, O output rows, C width, F feed-forward width, H query heads, G key/value heads,
D head size, V vocabulary.
"""

import math
from dataclasses import dataclass

import numpy as np

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.gguf import GgufFile
from llm.gpu.operations import Activation, CacheSlab, Count, Pairing, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models import mixtral
from llm.models.rope import rope_table, rope_weight
from llm.models.weights import WeightTable

MAX_HEAD_SIZE = 512  # shared memory of the attention kernel
ROPE_SCALINGS = ("none", "linear")


@dataclass(frozen=True, slots=True)
class LlamaConfig:
    n_layers: int
    width: int  # C
    feed_forward: int  # F
    n_heads: int  # H
    n_kv_heads: int  # G
    head_size: int  # D
    norm_eps: float
    rope_base: float
    rope_factor: float  # linear position scaling
    rope_size: int  # values of a head that are rotated

    @classmethod
    def from_gguf(cls, file: GgufFile) -> "LlamaConfig":
        meta = file.metadata
        width = meta.int("llama.embedding_length")
        n_heads = meta.int("llama.attention.head_count")
        if n_heads < 1:
            raise ModelFileError(file.path, "llama.attention.head_count", f"{n_heads} is not >= 1")
        scaling = meta.str("llama.rope.scaling.type", default="linear")
        if scaling not in ROPE_SCALINGS:
            raise UnsupportedModelError(
                file.path, "llama.rope.scaling.type", scaling, ROPE_SCALINGS
            )
        factor = meta.float("llama.rope.scaling.factor", default=1.0)
        head_size = meta.int("llama.attention.key_length", default=width // n_heads)
        config = cls(
            n_layers=meta.int("llama.block_count"),
            width=width,
            feed_forward=meta.int("llama.feed_forward_length"),
            n_heads=n_heads,
            n_kv_heads=meta.int("llama.attention.head_count_kv", default=n_heads),
            head_size=head_size,
            norm_eps=meta.float("llama.attention.layer_norm_rms_epsilon"),
            rope_base=meta.float("llama.rope.freq_base", default=10_000.0),
            rope_factor=factor if scaling == "linear" else 1.0,
            rope_size=meta.int("llama.rope.dimension_count", default=head_size),
        )
        config._check(file)
        return config

    def _check(self, file: GgufFile) -> None:
        for key, value in (
            ("block_count", self.n_layers),
            ("embedding_length", self.width),
            ("feed_forward_length", self.feed_forward),
            ("attention.head_count_kv", self.n_kv_heads),
            ("attention.key_length", self.head_size),
        ):
            if value < 1:
                raise ModelFileError(file.path, f"llama.{key}", f"{value} is not >= 1")
        if self.n_heads % self.n_kv_heads:
            problem = f"{self.n_heads} heads do not share {self.n_kv_heads} key/value heads evenly"
            raise ModelFileError(file.path, "llama.attention.head_count", problem)
        if self.head_size % 8 or self.head_size > MAX_HEAD_SIZE:
            problem = f"{self.head_size} is not a multiple of 8 up to {MAX_HEAD_SIZE}"
            raise ModelFileError(file.path, "llama.attention.key_length", problem)
        if self.rope_size % 2 or not 0 < self.rope_size <= self.head_size:
            problem = f"{self.rope_size} is not even and up to the head size of {self.head_size}"
            raise ModelFileError(file.path, "llama.rope.dimension_count", problem)
        for key, number in (
            ("attention.layer_norm_rms_epsilon", self.norm_eps),
            ("rope.freq_base", self.rope_base),
            ("rope.scaling.factor", self.rope_factor),
        ):
            if not (math.isfinite(number) and number > 0):
                raise ModelFileError(file.path, f"llama.{key}", f"{number} is not above 0")


@dataclass(frozen=True, slots=True)
class Block:
    attn_norm: Weight  # (1, C)
    q: Weight  # (H*D, C)
    k: Weight  # (G*D, C)
    v: Weight  # (G*D, C)
    output: Weight  # (C, H*D)
    ffn_norm: Weight  # (1, C)
    gate: Weight  # (F, C)
    up: Weight  # (F, C)
    down: Weight  # (C, F)

    @classmethod
    def take(cls, table: WeightTable, layer: int, cfg: LlamaConfig) -> "Block":
        width, size = cfg.width, cfg.head_size
        queries, keys = cfg.n_heads * size, cfg.n_kv_heads * size
        prefix = f"blk.{layer}."
        return cls(
            attn_norm=table.vector(prefix + "attn_norm.weight", width),
            q=table.matrix(prefix + "attn_q.weight", queries, width),
            k=table.matrix(prefix + "attn_k.weight", keys, width),
            v=table.matrix(prefix + "attn_v.weight", keys, width),
            output=table.matrix(prefix + "attn_output.weight", width, queries),
            ffn_norm=table.vector(prefix + "ffn_norm.weight", width),
            gate=table.matrix(prefix + "ffn_gate.weight", cfg.feed_forward, width),
            up=table.matrix(prefix + "ffn_up.weight", cfg.feed_forward, width),
            down=table.matrix(prefix + "ffn_down.weight", width, cfg.feed_forward),
        )


def program(file: GgufFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for biases and other scalings of positions than linear."""
    if file.metadata.int("llama.expert_count", default=0):
        return mixtral.program(file, context, max_rows, max_outputs)
    cfg = LlamaConfig.from_gguf(file)
    table = WeightTable(file)
    table.refuse_biases()
    vocabulary = table.rows_of("token_embd.weight")
    embedding = table.matrix("token_embd.weight", vocabulary, cfg.width)
    head = (
        table.matrix("output.weight", vocabulary, cfg.width)
        if table.has("output.weight")
        else embedding
    )
    blocks = [Block.take(table, layer, cfg) for layer in range(cfg.n_layers)]
    output_norm = table.vector("output_norm.weight", cfg.width)
    rope = rope_weight("rope", cfg.rope_size)
    rope_factors = table.positive_values("rope_freqs.weight", cfg.rope_size // 2)

    keys_width = cfg.n_kv_heads * cfg.head_size  # G*D
    slabs = CacheSlab.of_layers(cfg.n_layers, keys_width)

    def record(rows: int, outputs: int) -> Tape:
        tape = Tape(rows, outputs)
        x = tape.tensor(cfg.width)  # (T, C), the residual stream
        h = tape.tensor(cfg.width)  # (T, C)
        q = tape.tensor(cfg.n_heads * cfg.head_size)  # (T, H*D)
        k = tape.tensor(keys_width)  # (T, G*D)
        v = tape.tensor(keys_width)  # (T, G*D)
        mixed = tape.tensor(cfg.n_heads * cfg.head_size)  # (T, H*D)
        gate = tape.tensor(cfg.feed_forward)  # (T, F)
        up = tape.tensor(cfg.feed_forward)  # (T, F)
        eps = cfg.norm_eps
        query_scale = 1.0 / math.sqrt(cfg.head_size)

        tape.embed(embedding, x)
        for layer, block in enumerate(blocks):
            tape.rms_norm(block.attn_norm, x, h, eps)
            tape.matmul(block.q, h, q)
            tape.matmul(block.k, h, k)
            tape.matmul(block.v, h, v)
            tape.rotate(q, rope, heads=cfg.n_heads, pairing=Pairing.ADJACENT, scale=query_scale)
            tape.rotate(k, rope, heads=cfg.n_kv_heads, pairing=Pairing.ADJACENT)
            tape.cache_store(k, v, slabs[layer])
            tape.attend(q, slabs[layer], mixed, heads=cfg.n_heads, kv_heads=cfg.n_kv_heads)
            tape.matmul(block.output, mixed, x, residual=x)

            tape.rms_norm(block.ffn_norm, x, h, eps)
            tape.matmul(block.gate, h, gate)
            tape.matmul(block.up, h, up)
            tape.gated_unit(gate, up, gate, Activation.SILU)
            tape.matmul(block.down, gate, x, residual=x)

        if outputs == 0:
            tape.rms_norm(output_norm, x, h, eps)
            tape.hidden = h
            return tape
        last = tape.tensor(cfg.width, of=Count.OUTPUTS)  # (O, C)
        normed = tape.tensor(cfg.width, of=Count.OUTPUTS)  # (O, C)
        logits = tape.tensor(vocabulary, of=Count.OUTPUTS)  # (O, V)
        tape.select_rows(x, last)
        tape.rms_norm(output_norm, last, normed, eps, count=Count.OUTPUTS)
        tape.matmul(head, normed, logits, count=Count.OUTPUTS)
        tape.logits = logits
        return tape

    return Program(
        weights=table.taken,
        constants={
            rope.name: rope_table(
                cfg.rope_size,
                cfg.rope_base,
                cfg.rope_factor
                if rope_factors is None
                else cfg.rope_factor * rope_factors.astype(np.float64),
            )
        },
        vocabulary=vocabulary,
        context=context,
        page_words=slabs[-1].end,
        max_rows=max_rows,
        max_outputs=max_outputs,
        record=record,
    )
