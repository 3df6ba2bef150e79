"""Qwen3.5: gated DeltaNet, with gated attention in every fourth layer.

What is special:
  - most layers have a matrix for each head in place of cells (delta_net.py), constant in the length
    of a text. Value head h of such a layer has the key head h % key heads
  - the others attend, gated by a sigmoid, and turn a part of each head (gated_attention.py)
  - text has the same position in all sections of the rotation, which is then the usual one
  - a gated feed-forward with SiLU; the norm before it is named post_attention_norm
  - converters bake "+ 1" into the stored norm weights, but for that of what the matrices give
  - further blocks, which predict several tokens, are left alone

Letters: T rows, O output rows, C width, F feed-forward width, V vocabulary.
"""

import math
from dataclasses import dataclass

from llm.errors import ModelFileError
from llm.files.gguf import GgufFile
from llm.gpu.operations import Activation, CacheSlab, Count, HeadMapping, StateSlab, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models.delta_net import DeltaNet, DeltaSizes, DeltaWork
from llm.models.gated_attention import AttentionSizes, AttentionWork, GatedAttention
from llm.models.rope import rope_table, rope_weight
from llm.models.weights import WeightTable


@dataclass(frozen=True, slots=True)
class Qwen35Config:
    n_layers: int
    width: int  # C
    feed_forward: int  # F
    norm_eps: float
    interval: int  # every so many layers one attends
    attention: AttentionSizes
    delta: DeltaSizes

    @classmethod
    def from_gguf(cls, file: GgufFile) -> "Qwen35Config":
        meta = file.metadata
        blocks = meta.int("qwen35.block_count", minimum=1)
        config = cls(
            n_layers=blocks - meta.int("qwen35.nextn_predict_layers", 0, maximum=blocks - 1),
            width=meta.int("qwen35.embedding_length", minimum=1),
            feed_forward=meta.int("qwen35.feed_forward_length", minimum=1),
            norm_eps=meta.float("qwen35.attention.layer_norm_rms_epsilon"),
            interval=meta.int("qwen35.full_attention_interval", 4, minimum=2),
            attention=AttentionSizes.from_gguf(file, "qwen35"),
            delta=DeltaSizes.from_gguf(file, "qwen35", HeadMapping.TILED),
        )
        config._check(file)
        return config

    def _check(self, file: GgufFile) -> None:
        if self.n_layers < self.interval:
            problem = f"{self.interval} leaves none of {self.n_layers} layers to attend"
            raise ModelFileError(file.path, "qwen35.full_attention_interval", problem)
        if not (math.isfinite(self.norm_eps) and self.norm_eps > 0):
            key = "qwen35.attention.layer_norm_rms_epsilon"
            raise ModelFileError(file.path, key, f"{self.norm_eps} is not above 0")

    def attends(self, layer: int) -> bool:
        return layer % self.interval == self.interval - 1


@dataclass(frozen=True, slots=True)
class Block:
    attn_norm: Weight  # (1, C)
    mixer: GatedAttention | DeltaNet
    ffn_norm: Weight  # (1, C)
    gate: Weight  # (F, C)
    up: Weight  # (F, C)
    down: Weight  # (C, F)


def _take_blocks(
    table: WeightTable, cfg: Qwen35Config, slabs: list[CacheSlab], states: list[StateSlab]
) -> list[Block]:
    """Those that attend have the slabs, one after the other; the others add to the states."""
    blocks = []
    for layer in range(cfg.n_layers):
        prefix = f"blk.{layer}."
        mixer: GatedAttention | DeltaNet
        if cfg.attends(layer):
            cells = slabs[layer // cfg.interval]
            mixer = GatedAttention.take(table, prefix, cfg.width, cfg.attention, cells)
        else:
            mixer = DeltaNet.take(table, prefix, cfg.width, cfg.delta, states)
        blocks.append(
            Block(
                attn_norm=table.vector(prefix + "attn_norm.weight", cfg.width),
                mixer=mixer,
                ffn_norm=table.vector(prefix + "post_attention_norm.weight", cfg.width),
                gate=table.matrix(prefix + "ffn_gate.weight", cfg.feed_forward, cfg.width),
                up=table.matrix(prefix + "ffn_up.weight", cfg.feed_forward, cfg.width),
                down=table.matrix(prefix + "ffn_down.weight", cfg.width, cfg.feed_forward),
            )
        )
    return blocks


def program(file: GgufFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree."""
    cfg = Qwen35Config.from_gguf(file)
    table = WeightTable(file)
    vocabulary = table.rows_of("token_embd.weight")
    embedding = table.matrix("token_embd.weight", vocabulary, cfg.width)
    head = (
        table.matrix("output.weight", vocabulary, cfg.width)
        if table.has("output.weight")
        else embedding
    )
    slabs = CacheSlab.of_layers(cfg.n_layers // cfg.interval, cfg.attention.keys)
    states: list[StateSlab] = []
    blocks = _take_blocks(table, cfg, slabs, states)
    output_norm = table.vector("output_norm.weight", cfg.width)
    rope = rope_weight("rope", cfg.attention.rope_size)

    def record(rows: int, outputs: int) -> Tape:
        tape = Tape(rows, outputs)
        x = tape.tensor(cfg.width)  # (T, C), the residual stream
        h = tape.tensor(cfg.width)  # (T, C)
        attention = AttentionWork(tape, cfg.attention, rope)
        delta = DeltaWork(tape, cfg.delta)
        gate = tape.tensor(cfg.feed_forward)  # (T, F)
        up = tape.tensor(cfg.feed_forward)  # (T, F)
        eps = cfg.norm_eps

        tape.embed(embedding, x)
        for block in blocks:
            tape.rms_norm(block.attn_norm, x, h, eps)
            if isinstance(block.mixer, GatedAttention):
                attention.add(block.mixer, h, x, eps)
            else:
                delta.add(block.mixer, h, x, eps)

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
        constants={rope.name: rope_table(cfg.attention.rope_size, cfg.attention.rope_base)},
        vocabulary=vocabulary,
        context=context,
        page_words=slabs[-1].end,
        max_rows=max_rows,
        max_outputs=max_outputs,
        record=record,
        state_words=states[-1].end,
    )
