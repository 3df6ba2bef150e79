"""Gemma 3 (text): decoder with norms before and after each half of a block.

What is special:
  - the embedding is scaled by sqrt(C) and tied to the output
  - RMS norms around attention and around the feed-forward, on queries and on keys
    (converters bake Gemma's "+ 1" into the stored norm weights)
  - 5 of 6 layers see a sliding window and rotate by base 10,000; every sixth sees everything
  - a gated feed-forward with the tanh form of gelu, no biases, no soft caps

Letters: T rows, O output rows, C width, F feed-forward width, H query heads, G key/value heads,
D head size, V vocabulary.
"""

import math
from dataclasses import dataclass

from llm.errors import ModelFileError
from llm.files.model_file import ModelFile
from llm.gpu.operations import Activation, CacheSlab, Count, Pairing, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models.rope import rope_table, rope_weight
from llm.models.weights import WeightTable

MAX_HEAD_SIZE = 512  # shared memory of the attention kernel
LAYERS_OF_27B = 62  # its scale comes from C / H, not from D; no key of the file says so


@dataclass(frozen=True, slots=True)
class Gemma3Config:
    n_layers: int
    width: int  # C
    feed_forward: int  # F
    n_heads: int  # H
    n_kv_heads: int  # G
    head_size: int  # D
    norm_eps: float
    rope_base: float  # of layers that see everything
    rope_factor: float  # linear position scaling, those layers only
    window_rope_base: float
    window: int  # tokens that the other layers see
    pattern: int  # every so many layers one sees everything

    @classmethod
    def from_gguf(cls, file: ModelFile) -> "Gemma3Config":
        meta = file.metadata
        width = meta.int("gemma3.embedding_length")
        n_heads = meta.int("gemma3.attention.head_count")
        if n_heads < 1:
            raise ModelFileError(file.path, "gemma3.attention.head_count", f"{n_heads} is not >= 1")
        config = cls(
            n_layers=meta.int("gemma3.block_count"),
            width=width,
            feed_forward=meta.int("gemma3.feed_forward_length"),
            n_heads=n_heads,
            n_kv_heads=meta.int("gemma3.attention.head_count_kv", default=n_heads),
            head_size=meta.int("gemma3.attention.key_length", default=width // n_heads),
            norm_eps=meta.float("gemma3.attention.layer_norm_rms_epsilon"),
            rope_base=meta.float("gemma3.rope.freq_base", default=1_000_000.0),
            rope_factor=meta.float("gemma3.rope.scaling.factor", default=1.0),
            window_rope_base=meta.float("gemma3.rope.freq_base_swa", default=10_000.0),
            window=meta.int("gemma3.attention.sliding_window"),
            pattern=meta.int("gemma3.attention.sliding_window_pattern", default=6),
        )
        config._check(file)
        return config

    def _check(self, file: ModelFile) -> None:
        for key, value in (
            ("block_count", self.n_layers),
            ("embedding_length", self.width),
            ("feed_forward_length", self.feed_forward),
            ("attention.head_count_kv", self.n_kv_heads),
            ("attention.key_length", self.head_size),
            ("attention.sliding_window", self.window),
            ("attention.sliding_window_pattern", self.pattern),
        ):
            if value < 1:
                raise ModelFileError(file.path, f"gemma3.{key}", f"{value} is not >= 1")
        if self.n_heads % self.n_kv_heads:
            problem = f"{self.n_heads} heads do not share {self.n_kv_heads} key/value heads evenly"
            raise ModelFileError(file.path, "gemma3.attention.head_count", problem)
        if self.head_size % 8 or self.head_size > MAX_HEAD_SIZE:
            problem = f"{self.head_size} is not a multiple of 8 up to {MAX_HEAD_SIZE}"
            raise ModelFileError(file.path, "gemma3.attention.key_length", problem)
        for key, number in (
            ("attention.layer_norm_rms_epsilon", self.norm_eps),
            ("rope.freq_base", self.rope_base),
            ("rope.freq_base_swa", self.window_rope_base),
            ("rope.scaling.factor", self.rope_factor),
        ):
            if not (math.isfinite(number) and number > 0):
                raise ModelFileError(file.path, f"gemma3.{key}", f"{number} is not above 0")

    @property
    def query_scale(self) -> float:
        by_width = self.n_layers == LAYERS_OF_27B
        return 1.0 / math.sqrt(self.width / self.n_heads if by_width else self.head_size)

    def sees_everything(self, layer: int) -> bool:
        return layer % self.pattern == self.pattern - 1


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
    def take(cls, table: WeightTable, layer: int, cfg: Gemma3Config) -> "Block":
        width, size = cfg.width, cfg.head_size
        queries, keys = cfg.n_heads * size, cfg.n_kv_heads * size
        prefix = f"blk.{layer}."
        return cls(
            attn_norm=table.vector(prefix + "attn_norm.weight", width),
            q=table.matrix(prefix + "attn_q.weight", queries, width),
            k=table.matrix(prefix + "attn_k.weight", keys, width),
            v=table.matrix(prefix + "attn_v.weight", keys, width),
            q_norm=table.vector(prefix + "attn_q_norm.weight", size),
            k_norm=table.vector(prefix + "attn_k_norm.weight", size),
            output=table.matrix(prefix + "attn_output.weight", width, queries),
            post_attention_norm=table.vector(prefix + "post_attention_norm.weight", width),
            ffn_norm=table.vector(prefix + "ffn_norm.weight", width),
            gate=table.matrix(prefix + "ffn_gate.weight", cfg.feed_forward, width),
            up=table.matrix(prefix + "ffn_up.weight", cfg.feed_forward, width),
            down=table.matrix(prefix + "ffn_down.weight", width, cfg.feed_forward),
            post_ffw_norm=table.vector(prefix + "post_ffw_norm.weight", width),
        )


def program(file: ModelFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree."""
    cfg = Gemma3Config.from_gguf(file)
    table = WeightTable(file)
    vocabulary = table.rows_of("token_embd.weight")
    embedding = table.matrix("token_embd.weight", vocabulary, cfg.width)
    head = (
        table.matrix("output.weight", vocabulary, cfg.width)
        if table.has("output.weight")
        else embedding
    )
    blocks = [Block.take(table, layer, cfg) for layer in range(cfg.n_layers)]
    output_norm = table.vector("output_norm.weight", cfg.width)
    rope_everything = rope_weight("rope.everything", cfg.head_size)
    rope_window = rope_weight("rope.window", cfg.head_size)

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
        y = tape.tensor(cfg.width)  # (T, C), what a half of a block adds
        eps = cfg.norm_eps

        tape.embed(embedding, x, scale=math.sqrt(cfg.width))
        for layer, block in enumerate(blocks):
            everything = cfg.sees_everything(layer)
            rope = rope_everything if everything else rope_window
            window = 0 if everything else cfg.window

            tape.rms_norm(block.attn_norm, x, h, eps)
            tape.matmul(block.q, h, q)
            tape.matmul(block.k, h, k)
            tape.matmul(block.v, h, v)
            tape.rotate(
                q,
                rope,
                heads=cfg.n_heads,
                pairing=Pairing.HALVES,
                norm=block.q_norm,
                eps=eps,
                scale=cfg.query_scale,
            )
            tape.rotate(
                k, rope, heads=cfg.n_kv_heads, pairing=Pairing.HALVES, norm=block.k_norm, eps=eps
            )
            tape.cache_store(k, v, slabs[layer])
            tape.attend(
                q, slabs[layer], mixed, heads=cfg.n_heads, kv_heads=cfg.n_kv_heads, window=window
            )
            tape.matmul(block.output, mixed, y)
            tape.rms_norm(block.post_attention_norm, y, x, eps, residual=x)

            tape.rms_norm(block.ffn_norm, x, h, eps)
            tape.matmul(block.gate, h, gate)
            tape.matmul(block.up, h, up)
            tape.gated_unit(gate, up, gate, Activation.GELU)
            tape.matmul(block.down, gate, y)
            tape.rms_norm(block.post_ffw_norm, y, x, eps, residual=x)

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
            rope_everything.name: rope_table(cfg.head_size, cfg.rope_base, cfg.rope_factor),
            rope_window.name: rope_table(cfg.head_size, cfg.window_rope_base),
        },
        vocabulary=vocabulary,
        context=context,
        page_words=slabs[-1].end,
        max_rows=max_rows,
        max_outputs=max_outputs,
        record=record,
    )
