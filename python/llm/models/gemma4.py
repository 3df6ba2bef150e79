"""Gemma 4 (text): E2B and E4B, which have per-layer embeddings; 12B and 31B, which have none; and
26B-A4B, which has experts.

What is special:
  - layers that see everything have heads of another size than those with a sliding window, and may
    have another number of key/value heads; the metadata say which layers are which
  - the last layers, so many as the metadata say, have queries only: they read the keys and values
    of the last layer of their kind that has some
  - values are normed without a weight before they are stored; where a layer has no matrix for them,
    they are its keys, as these are before their norm and their rotation
  - queries are not scaled: their norm does it
  - layers that see everything turn the first pairs of a head only: `rope_freqs` divides the
    frequencies of the others by 1e30, so that pairs lie as if all of the head were turned
  - per-layer embeddings: of a second table a token has a vector for each layer. This and a normed
    projection of the first embedding are an input of the layer: at the layer's end, a small gate of
    the stream is multiplied by it, projected back, normed, and added (gemma4_inputs.py)
  - experts stand beside the feed-forward, and do not replace it (gemma4_experts.py)
  - each layer's output is scaled by a number of the file; the logits have a soft cap

Letters: T rows, O output rows, C width, F feed-forward width, H query heads, G key/value heads,
D head size, P width of a layer's own embedding, L layers, V vocabulary.
"""

import math
from dataclasses import dataclass

import numpy as np

from llm.errors import ModelFileError
from llm.files.model_file import ModelFile
from llm.gpu.operations import Activation, CacheSlab, Count, Pairing, Tensor, Weight
from llm.gpu.program import Floats, Program
from llm.gpu.tape import Tape
from llm.models.gemma4_config import Gemma4Config, LayerConfig
from llm.models.gemma4_experts import ExpertRoom, Experts
from llm.models.gemma4_inputs import LayerInput, LayerInputs
from llm.models.rope import rope_table, rope_weight
from llm.models.weights import WeightTable


@dataclass(frozen=True, slots=True)
class Block:
    attn_norm: Weight  # (1, C)
    q: Weight  # (H*D, C)
    q_norm: Weight  # (1, D)
    k: Weight | None  # (G*D, C); None where another layer's keys are read
    k_norm: Weight | None  # (1, D)
    v: Weight | None  # (G*D, C); None where there are no keys, or values are made of them
    output: Weight  # (C, H*D)
    post_attention_norm: Weight  # (1, C)
    ffn_norm: Weight  # (1, C)
    gate: Weight  # (F, C)
    up: Weight  # (F, C)
    down: Weight  # (C, F)
    experts: Experts | None
    post_ffw_norm: Weight  # (1, C)
    layer_input: LayerInput | None
    scale: float  # of the output

    @classmethod
    def take(cls, table: WeightTable, number: int, cfg: Gemma4Config) -> "Block":
        layer = cfg.layers[number]
        width, size = cfg.width, layer.head_size
        queries, keys = cfg.n_heads * size, layer.keys_width
        prefix = f"blk.{number}."
        k = k_norm = v = None
        if layer.cells_of == number:
            k = table.matrix(prefix + "attn_k.weight", keys, width)
            k_norm = table.vector(prefix + "attn_k_norm.weight", size)
            if table.has(prefix + "attn_v.weight"):
                v = table.matrix(prefix + "attn_v.weight", keys, width)
        sizes = cfg.experts
        scale = table.positive_values(prefix + "layer_output_scale.weight", 1)
        return cls(
            attn_norm=table.vector(prefix + "attn_norm.weight", width),
            q=table.matrix(prefix + "attn_q.weight", queries, width),
            q_norm=table.vector(prefix + "attn_q_norm.weight", size),
            k=k,
            k_norm=k_norm,
            v=v,
            output=table.matrix(prefix + "attn_output.weight", width, queries),
            post_attention_norm=table.vector(prefix + "post_attention_norm.weight", width),
            ffn_norm=table.vector(prefix + "ffn_norm.weight", width),
            gate=table.matrix(prefix + "ffn_gate.weight", layer.feed_forward, width),
            up=table.matrix(prefix + "ffn_up.weight", layer.feed_forward, width),
            down=table.matrix(prefix + "ffn_down.weight", width, layer.feed_forward),
            experts=None if sizes is None else Experts.take(table, prefix, sizes, width),
            post_ffw_norm=table.vector(prefix + "post_ffw_norm.weight", width),
            layer_input=LayerInput.take(table, prefix, cfg) if cfg.layer_width else None,
            scale=1.0 if scale is None else float(scale[0]),
        )


@dataclass(frozen=True, slots=True)
class Heads:
    """Where layers whose heads are alike leave what these need."""

    q: Tensor  # (T, H*D)
    k: Tensor  # (T, G*D)
    v: Tensor  # (T, G*D)
    mixed: Tensor  # (T, H*D)

    @classmethod
    def of(cls, tape: Tape, layer: LayerConfig, n_heads: int) -> "Heads":
        queries, keys = n_heads * layer.head_size, layer.keys_width
        return cls(*(tape.tensor(width) for width in (queries, keys, keys, queries)))


def program(file: ModelFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree."""
    cfg = Gemma4Config.from_gguf(file)
    table = WeightTable(file)
    vocabulary = table.rows_of("token_embd.weight")
    embedding = table.matrix("token_embd.weight", vocabulary, cfg.width)
    head = (
        table.matrix("output.weight", vocabulary, cfg.width)
        if table.has("output.weight")
        else embedding
    )
    layer_inputs = LayerInputs.take(table, vocabulary, cfg) if cfg.layer_width else None
    blocks = [Block.take(table, number, cfg) for number in range(len(cfg.layers))]
    output_norm = table.vector("output_norm.weight", cfg.width)
    # files may have keys, and norms of them, for layers that read another's
    table.refuse_others([f"blk.{number}.attn_k_norm.weight" for number in range(len(blocks))])
    ropes: dict[bool, Weight] = {}  # by whether a window slides
    constants: dict[str, Floats] = {}
    for layer in cfg.layers:
        slides, size = layer.window > 0, layer.head_size
        rope = ropes[slides] = rope_weight("rope.window" if slides else "rope.everything", size)
        if slides:
            constants[rope.name] = rope_table(size, cfg.window_rope_base)
        else:
            factors = table.positive_values("rope_freqs.weight", size // 2)
            if factors is None:
                raise ModelFileError(file.path, "tensor rope_freqs.weight", "missing")
            constants[rope.name] = rope_table(size, cfg.rope_base, factors.astype(np.float64))
    owners = [number for number, layer in enumerate(cfg.layers) if layer.cells_of == number]
    widths = [cfg.layers[number].keys_width for number in owners]
    slabs = dict(zip(owners, CacheSlab.of_widths(widths), strict=True))

    def record(rows: int, outputs: int) -> Tape:
        tape = Tape(rows, outputs)
        # first, before all that steps hand on with tags: these are kept for all layers
        inputs = tape.tensor(len(cfg.layers) * cfg.layer_width)  # (T, L*P)
        x = tape.tensor(cfg.width)  # (T, C), the residual stream
        h = tape.tensor(cfg.width)  # (T, C)
        y = tape.tensor(cfg.width)  # (T, C), what a part of a block adds
        small = tape.tensor(cfg.layer_width)  # (T, P)
        rooms: dict[tuple[int, int, bool], Heads] = {}
        hidden: dict[int, tuple[Tensor, Tensor]] = {}  # gate and up, (T, F) each
        expert_room = None if cfg.experts is None else ExpertRoom.of(tape, cfg.experts, cfg.width)
        eps = cfg.norm_eps

        tape.embed(embedding, x, scale=math.sqrt(cfg.width))
        if layer_inputs is not None:
            layer_inputs.record(tape, x, inputs, cfg)
        for number, (layer, block) in enumerate(zip(cfg.layers, blocks, strict=True)):
            kind = (layer.head_size, layer.kv_heads, block.k is None)
            if kind not in rooms:
                rooms[kind] = Heads.of(tape, layer, cfg.n_heads)
            room = rooms[kind]
            if layer.feed_forward not in hidden:
                size = layer.feed_forward
                hidden[size] = tape.tensor(size), tape.tensor(size)
            gate, up = hidden[layer.feed_forward]
            rope, slab = ropes[layer.window > 0], slabs[layer.cells_of]
            heads, kv_heads = cfg.n_heads, layer.kv_heads
            halves = Pairing.HALVES

            tape.rms_norm(block.attn_norm, x, h, eps)
            tape.matmul(block.q, h, room.q)
            if block.k is not None:
                tape.matmul(block.k, h, room.k)
                if block.v is not None:
                    tape.matmul(block.v, h, room.v)
                raw = room.k if block.v is None else room.v
                tape.rms_norm(None, raw, room.v, eps, parts=kv_heads)
            tape.rotate(room.q, rope, heads=heads, pairing=halves, norm=block.q_norm, eps=eps)
            if block.k is not None:
                tape.rotate(
                    room.k, rope, heads=kv_heads, pairing=halves, norm=block.k_norm, eps=eps
                )
                tape.cache_store(room.k, room.v, slab)
            tape.attend(
                room.q, slab, room.mixed, heads=heads, kv_heads=kv_heads, window=layer.window
            )
            tape.matmul(block.output, room.mixed, y)
            tape.rms_norm(block.post_attention_norm, y, x, eps, residual=x)

            tape.rms_norm(block.ffn_norm, x, h, eps)
            tape.matmul(block.gate, h, gate)
            tape.matmul(block.up, h, up)
            tape.gated_unit(gate, up, gate, Activation.GELU)
            tape.matmul(block.down, gate, y)
            if block.experts is not None and expert_room is not None:
                block.experts.record(tape, x, y, expert_room, eps)
            if block.layer_input is None:
                tape.rms_norm(block.post_ffw_norm, y, x, eps, residual=x, scale=block.scale)
                continue
            tape.rms_norm(block.post_ffw_norm, y, x, eps, residual=x)

            own = inputs.columns(number * cfg.layer_width, cfg.layer_width)  # (T, P)
            block.layer_input.record(tape, own, small, x, y, eps=eps, scale=block.scale)

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
        if cfg.soft_cap:
            tape.scale_logits(logits, soft_cap=cfg.soft_cap)
        tape.logits = logits
        return tape

    return Program(
        weights=table.taken,
        constants=constants,
        vocabulary=vocabulary,
        context=context,
        page_words=max(slab.end for slab in slabs.values()),
        max_rows=max_rows,
        max_outputs=max_outputs,
        record=record,
        tables=table.tables,
    )
