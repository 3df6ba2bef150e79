"""Qwen 3 with a mixture of experts, such as 30B-A3B and 235B-A22B.

What is special:
  - queries and keys are normed head by head, and then rotated by halves (i, i + D/2)
  - the feed-forward of every layer is E experts, of which a token uses U: those with the largest
    logits; their shares, the softmax over all experts, are divided by their sum
  - the output is a matrix of its own, or tied to the embedding where the file has none
  - every layer sees everything

Letters: T rows, O output rows, C width, E experts, U used ones, F feed-forward width of an expert,
H query heads, G key/value heads, D head size, V vocabulary.
"""

import math
from dataclasses import dataclass

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.gguf import GgufFile
from llm.gpu.operations import Activation, CacheSlab, Count, Pairing, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models.experts import ExpertSizes
from llm.models.rope import rope_table, rope_weight
from llm.models.weights import WeightTable

MAX_HEAD_SIZE = 512  # shared memory of the attention kernel
ROPE_SCALINGS = ("none", "linear")


@dataclass(frozen=True, slots=True)
class Qwen3MoeConfig:
    n_layers: int
    width: int  # C
    experts: ExpertSizes  # E, U, F
    n_heads: int  # H
    n_kv_heads: int  # G
    head_size: int  # D
    norm_eps: float
    rope_base: float
    rope_factor: float  # linear position scaling

    @classmethod
    def from_gguf(cls, file: GgufFile) -> "Qwen3MoeConfig":
        meta = file.metadata
        width = meta.int("qwen3moe.embedding_length")
        n_heads = meta.int("qwen3moe.attention.head_count")
        if n_heads < 1:
            raise ModelFileError(
                file.path, "qwen3moe.attention.head_count", f"{n_heads} is not >= 1"
            )
        scaling = meta.str("qwen3moe.rope.scaling.type", default="linear")
        if scaling not in ROPE_SCALINGS:
            raise UnsupportedModelError(
                file.path, "qwen3moe.rope.scaling.type", scaling, ROPE_SCALINGS
            )
        factor = meta.float("qwen3moe.rope.scaling.factor", default=1.0)
        head_size = meta.int("qwen3moe.attention.key_length", default=width // n_heads)
        config = cls(
            n_layers=meta.int("qwen3moe.block_count"),
            width=width,
            experts=ExpertSizes.from_gguf(file, "qwen3moe"),
            n_heads=n_heads,
            n_kv_heads=meta.int("qwen3moe.attention.head_count_kv", default=n_heads),
            head_size=head_size,
            norm_eps=meta.float("qwen3moe.attention.layer_norm_rms_epsilon"),
            rope_base=meta.float("qwen3moe.rope.freq_base", default=10_000.0),
            rope_factor=factor if scaling == "linear" else 1.0,
        )
        config._check(file)
        return config

    def _check(self, file: GgufFile) -> None:
        for key, value in (
            ("block_count", self.n_layers),
            ("embedding_length", self.width),
            ("attention.head_count_kv", self.n_kv_heads),
            ("attention.key_length", self.head_size),
        ):
            if value < 1:
                raise ModelFileError(file.path, f"qwen3moe.{key}", f"{value} is not >= 1")
        if self.n_heads % self.n_kv_heads:
            problem = f"{self.n_heads} heads do not share {self.n_kv_heads} key/value heads evenly"
            raise ModelFileError(file.path, "qwen3moe.attention.head_count", problem)
        if self.head_size % 8 or self.head_size > MAX_HEAD_SIZE:
            problem = f"{self.head_size} is not a multiple of 8 up to {MAX_HEAD_SIZE}"
            raise ModelFileError(file.path, "qwen3moe.attention.key_length", problem)
        for key, number in (
            ("attention.layer_norm_rms_epsilon", self.norm_eps),
            ("rope.freq_base", self.rope_base),
            ("rope.scaling.factor", self.rope_factor),
        ):
            if not (math.isfinite(number) and number > 0):
                raise ModelFileError(file.path, f"qwen3moe.{key}", f"{number} is not above 0")


@dataclass(frozen=True, slots=True)
class Block:
    attn_norm: Weight  # (1, C)
    q: Weight  # (H*D, C)
    k: Weight  # (G*D, C)
    v: Weight  # (G*D, C)
    q_norm: Weight  # (1, D)
    k_norm: Weight  # (1, D)
    output: Weight  # (C, H*D)
    ffn_norm: Weight  # (1, C)
    router: Weight  # (E, C)
    gates: Weight  # (E*F, C)
    ups: Weight  # (E*F, C)
    downs: Weight  # (E*C, F)

    @classmethod
    def take(cls, table: WeightTable, layer: int, cfg: Qwen3MoeConfig) -> "Block":
        width, size = cfg.width, cfg.head_size
        count, feed_forward = cfg.experts.count, cfg.experts.feed_forward
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
            ffn_norm=table.vector(prefix + "ffn_norm.weight", width),
            router=table.matrix(prefix + "ffn_gate_inp.weight", count, width),
            gates=table.experts(prefix + "ffn_gate_exps.weight", count, feed_forward, width),
            ups=table.experts(prefix + "ffn_up_exps.weight", count, feed_forward, width),
            downs=table.experts(prefix + "ffn_down_exps.weight", count, width, feed_forward),
        )


def program(file: GgufFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for biases and other scalings of positions than linear."""
    cfg = Qwen3MoeConfig.from_gguf(file)
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
    rope = rope_weight("rope", cfg.head_size)

    experts = cfg.experts
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
        scores = tape.tensor(experts.count)  # (T, E)
        choice = tape.choice(experts.count, experts.used)
        gate = tape.tensor(experts.used * experts.feed_forward)  # (T, U*F)
        up = tape.tensor(experts.used * experts.feed_forward)  # (T, U*F)
        each = tape.tensor(experts.used * cfg.width)  # (T, U*C)
        eps = cfg.norm_eps

        tape.embed(embedding, x)
        for layer, block in enumerate(blocks):
            tape.rms_norm(block.attn_norm, x, h, eps)
            tape.matmul(block.q, h, q)
            tape.matmul(block.k, h, k)
            tape.matmul(block.v, h, v)
            for heads, count, norm, scale in (
                (q, cfg.n_heads, block.q_norm, 1.0 / math.sqrt(cfg.head_size)),
                (k, cfg.n_kv_heads, block.k_norm, 1.0),
            ):
                tape.rotate(
                    heads,
                    rope,
                    heads=count,
                    pairing=Pairing.HALVES,
                    norm=norm,
                    eps=eps,
                    scale=scale,
                )
            tape.cache_store(k, v, slabs[layer])
            tape.attend(q, slabs[layer], mixed, heads=cfg.n_heads, kv_heads=cfg.n_kv_heads)
            tape.matmul(block.output, mixed, x, residual=x)

            tape.rms_norm(block.ffn_norm, x, h, eps)
            tape.matmul(block.router, h, scores)
            tape.route(scores, choice)
            tape.expert_matmul(block.gates, h, gate, choice)
            tape.expert_matmul(block.ups, h, up, choice)
            tape.gated_unit(gate, up, gate, Activation.SILU)
            tape.expert_matmul(block.downs, gate, each, choice)
            tape.expert_sum(each, choice, x, residual=x)

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
        constants={rope.name: rope_table(cfg.head_size, cfg.rope_base, cfg.rope_factor)},
        vocabulary=vocabulary,
        context=context,
        page_words=slabs[-1].end,
        max_rows=max_rows,
        max_outputs=max_outputs,
        record=record,
    )
