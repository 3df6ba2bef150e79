"""Gemma 3n (text): E2B and E4B.

What is special:
  - four residual streams side by side (AltUp): a layer predicts all, computes with the active one,
    and corrects all by what it found; small matrices of a router's values say how much of each. The
    other streams begin as projections of the embedding, made as long as this is, and end as
    projections, made as long as the active stream; the mean of all is the output
  - beside attention, a product of low rank of the same input (Laurel) is added
  - the first layers' gates keep only what is far above their mean
  - the last layers have queries only: they read the keys and values of the last layer of their kind
    that has some; values are normed without a weight, queries are not scaled
  - per-layer embeddings, as in Gemma 4, are added to all streams but the first
  - 4 of 5 layers see a sliding window; the logits have a soft cap of 30

Letters: T rows, O output rows, C width, F feed-forward width, H query heads, G key/value heads,
D head size, P width of a layer's own embedding, R rank, S streams, L layers, V vocabulary.
"""

import math
from dataclasses import dataclass

from llm.errors import ModelFileError
from llm.files.model_file import ModelFile
from llm.gpu.kernels.streams import MOST_STREAMS
from llm.gpu.operations import Activation, CacheSlab, Count, Pairing, Tensor, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models.rope import rope_table, rope_weight
from llm.models.weights import WeightTable

MAX_HEAD_SIZE = 512  # shared memory of the attention kernel
# What no key of a file says.
PATTERN = 5  # every so many layers one sees everything
OWN_CELLS = 20  # layers that have keys and values of their own
SPARSE_LAYERS = 10  # the first ones
SPARSE_FACTOR = 1.6448533  # deviations above the mean: a twentieth of a normal distribution
SOFT_CAP = 30.0


@dataclass(frozen=True, slots=True)
class Gemma3nConfig:
    n_layers: int  # L
    width: int  # C
    feed_forward: int  # F
    n_heads: int  # H
    n_kv_heads: int  # G
    head_size: int  # D
    layer_width: int  # P
    streams: int  # S
    active: int  # the stream that layers compute with
    norm_eps: float
    rope_base: float  # of layers that see everything
    window_rope_base: float
    window: int  # tokens that the other layers see

    @classmethod
    def from_gguf(cls, file: ModelFile) -> "Gemma3nConfig":
        meta = file.metadata
        feed_forward = meta.get("gemma3n.feed_forward_length")
        if not isinstance(feed_forward, int):  # the same for each layer
            sizes = set(meta.numbers("gemma3n.feed_forward_length").tolist())
            if len(sizes) != 1:
                problem = f"{len(sizes)} sizes; layers of one are read"
                raise ModelFileError(file.path, "gemma3n.feed_forward_length", problem)
            [feed_forward] = sizes
        config = cls(
            n_layers=meta.int("gemma3n.block_count", minimum=1),
            width=meta.int("gemma3n.embedding_length", minimum=1),
            feed_forward=feed_forward,
            n_heads=meta.int("gemma3n.attention.head_count", minimum=1),
            n_kv_heads=meta.int("gemma3n.attention.head_count_kv", minimum=1),
            head_size=meta.int("gemma3n.attention.key_length", minimum=1),
            layer_width=meta.int("gemma3n.embedding_length_per_layer_input", 256, minimum=1),
            streams=meta.int("gemma3n.altup.num_inputs", 4, minimum=2),
            active=meta.int("gemma3n.altup.active_idx", 0),
            norm_eps=meta.float("gemma3n.attention.layer_norm_rms_epsilon"),
            rope_base=meta.float("gemma3n.rope.freq_base", default=1_000_000.0),
            window_rope_base=meta.float("gemma3n.rope.freq_base_swa", default=10_000.0),
            window=meta.int("gemma3n.attention.sliding_window", minimum=1),
        )
        config._check(file)
        return config

    def _check(self, file: ModelFile) -> None:
        if self.n_heads % self.n_kv_heads:
            problem = f"{self.n_heads} heads do not share {self.n_kv_heads} key/value heads evenly"
            raise ModelFileError(file.path, "gemma3n.attention.head_count", problem)
        if self.head_size % 8 or self.head_size > MAX_HEAD_SIZE:
            problem = f"{self.head_size} is not a multiple of 8 up to {MAX_HEAD_SIZE}"
            raise ModelFileError(file.path, "gemma3n.attention.key_length", problem)
        if self.streams > MOST_STREAMS:
            problem = f"{self.streams} is above {MOST_STREAMS}"
            raise ModelFileError(file.path, "gemma3n.altup.num_inputs", problem)
        if self.active >= self.streams:
            problem = f"{self.active} is none of {self.streams} streams"
            raise ModelFileError(file.path, "gemma3n.altup.active_idx", problem)
        for key, number in (
            ("attention.layer_norm_rms_epsilon", self.norm_eps),
            ("rope.freq_base", self.rope_base),
            ("rope.freq_base_swa", self.window_rope_base),
        ):
            if number <= 0:
                raise ModelFileError(file.path, f"gemma3n.{key}", f"{number} is not above 0")

    def sees_everything(self, layer: int) -> bool:
        return layer % PATTERN == PATTERN - 1

    def cells_of(self, layer: int) -> int:
        """The layer whose keys and values it reads: itself, or one before it."""
        if layer < OWN_CELLS:
            return layer
        return OWN_CELLS - 1 if self.sees_everything(layer) else OWN_CELLS - 2


@dataclass(frozen=True, slots=True)
class Block:
    attn_norm: Weight  # (1, C)
    q: Weight  # (H*D, C)
    q_norm: Weight  # (1, D)
    k: Weight | None  # (G*D, C); None where another layer's keys are read
    k_norm: Weight | None  # (1, D)
    v: Weight | None  # (G*D, C)
    output: Weight  # (C, H*D)
    post_attention_norm: Weight  # (1, C)
    laurel_left: Weight  # (R, C)
    laurel_right: Weight  # (C, R)
    laurel_norm: Weight  # (1, C)
    ffn_norm: Weight  # (1, C)
    gate: Weight  # (F, C)
    up: Weight  # (F, C)
    down: Weight  # (C, F)
    post_ffw_norm: Weight  # (1, C)
    router: Weight  # (S, C)
    router_norm: Weight  # (1, C)
    predict: Weight  # (S*S, S)
    correct: Weight  # (S, S)
    correct_scale: Weight  # (1, C)
    input_gate: Weight  # (P, C)
    input_project: Weight  # (C, P)
    input_norm: Weight  # (1, C)

    @classmethod
    def take(cls, table: WeightTable, layer: int, cfg: Gemma3nConfig) -> "Block":
        width, size, streams = cfg.width, cfg.head_size, cfg.streams
        queries, keys = cfg.n_heads * size, cfg.n_kv_heads * size
        prefix = f"blk.{layer}."
        rank = table.rows_of(prefix + "laurel_l.weight")
        k = k_norm = v = None
        if cfg.cells_of(layer) == layer:
            k = table.matrix(prefix + "attn_k.weight", keys, width)
            k_norm = table.vector(prefix + "attn_k_norm.weight", size)
            v = table.matrix(prefix + "attn_v.weight", keys, width)
        return cls(
            attn_norm=table.vector(prefix + "attn_norm.weight", width),
            q=table.matrix(prefix + "attn_q.weight", queries, width),
            q_norm=table.vector(prefix + "attn_q_norm.weight", size),
            k=k,
            k_norm=k_norm,
            v=v,
            output=table.matrix(prefix + "attn_output.weight", width, queries),
            post_attention_norm=table.vector(prefix + "post_attention_norm.weight", width),
            laurel_left=table.matrix(prefix + "laurel_l.weight", rank, width),
            laurel_right=table.matrix(prefix + "laurel_r.weight", width, rank),
            laurel_norm=table.vector(prefix + "laurel_post_norm.weight", width),
            ffn_norm=table.vector(prefix + "ffn_norm.weight", width),
            gate=table.matrix(prefix + "ffn_gate.weight", cfg.feed_forward, width),
            up=table.matrix(prefix + "ffn_up.weight", cfg.feed_forward, width),
            down=table.matrix(prefix + "ffn_down.weight", width, cfg.feed_forward),
            post_ffw_norm=table.vector(prefix + "post_ffw_norm.weight", width),
            router=table.matrix(prefix + "altup_router.weight", streams, width),
            router_norm=table.vector(prefix + "altup_router_norm.weight", width),
            predict=table.constant(prefix + "altup_predict_coef.weight", streams**2, streams),
            correct=table.constant(prefix + "altup_correct_coef.weight", streams, streams),
            correct_scale=table.vector(prefix + "altup_correct_scale.weight", width),
            input_gate=table.matrix(prefix + "inp_gate.weight", cfg.layer_width, width),
            input_project=table.matrix(prefix + "proj.weight", width, cfg.layer_width),
            input_norm=table.vector(prefix + "post_norm.weight", width),
        )


def program(file: ModelFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree."""
    cfg = Gemma3nConfig.from_gguf(file)
    table = WeightTable(file)
    vocabulary = table.rows_of("token_embd.weight")
    embedding = table.matrix("token_embd.weight", vocabulary, cfg.width)
    head = (
        table.matrix("output.weight", vocabulary, cfg.width)
        if table.has("output.weight")
        else embedding
    )
    others, of_all = cfg.streams - 1, cfg.n_layers * cfg.layer_width
    layer_table = table.table("per_layer_token_embd.weight", vocabulary, of_all)
    layer_project = table.matrix("per_layer_model_proj.weight", of_all, cfg.width)
    layer_norm = table.vector("per_layer_proj_norm.weight", cfg.layer_width)
    to_streams = table.experts("altup_proj.weight", others, cfg.width, cfg.width)
    from_streams = table.experts("altup_unembd_proj.weight", others, cfg.width, cfg.width)
    blocks = [Block.take(table, layer, cfg) for layer in range(cfg.n_layers)]
    output_norm = table.vector("output_norm.weight", cfg.width)
    # files may have keys, and norms of them, for layers that read another's
    table.refuse_others([f"blk.{layer}.attn_k_norm.weight" for layer in range(cfg.n_layers)])
    rope_everything = rope_weight("rope.everything", cfg.head_size)
    rope_window = rope_weight("rope.window", cfg.head_size)
    keys_width = cfg.n_kv_heads * cfg.head_size  # G*D
    slabs = CacheSlab.of_layers(min(cfg.n_layers, OWN_CELLS), keys_width)

    def record(rows: int, outputs: int) -> Tape:
        tape = Tape(rows, outputs)
        width, eps, heads = cfg.width, cfg.norm_eps, cfg.n_heads
        inputs = tape.tensor(of_all)  # (T, L*P)
        projected = tape.tensor(of_all)  # (T, L*P)
        streams = tape.tensor(cfg.streams * width)  # (T, S*C)
        predicted = tape.tensor(cfg.streams * width)  # (T, S*C)
        changed = tape.tensor(others * width)  # (T, (S-1)*C)
        router = tape.tensor(cfg.streams)  # (T, S)
        x = tape.tensor(width)  # (T, C), the active stream
        h = tape.tensor(width)  # (T, C)
        y = tape.tensor(width)  # (T, C)
        laurel = tape.tensor(width)  # (T, C)
        low = tape.tensor(blocks[0].laurel_left.rows)  # (T, R)
        q = tape.tensor(heads * cfg.head_size)  # (T, H*D)
        k = tape.tensor(keys_width)  # (T, G*D)
        v = tape.tensor(keys_width)  # (T, G*D)
        mixed = tape.tensor(heads * cfg.head_size)  # (T, H*D)
        gate = tape.tensor(cfg.feed_forward)  # (T, F)
        up = tape.tensor(cfg.feed_forward)  # (T, F)
        small = tape.tensor(cfg.layer_width)  # (T, P)
        halves = Pairing.HALVES

        def stream(of: Tensor, number: int) -> Tensor:
            return of.columns(number * width, width)  # (T, C)

        def route(block: Block) -> None:
            tape.rms_norm(block.router_norm, x, h, eps, scale=1.0 / width)
            tape.matmul(block.router, h, router)

        tape.embed(embedding, x, scale=math.sqrt(width))
        tape.embed(layer_table, inputs, scale=math.sqrt(cfg.layer_width))
        tape.matmul(layer_project, x, projected)
        tape.rms_norm(
            layer_norm,
            projected,
            inputs,
            eps * width,  # the same as of what is projected over sqrt(C)
            residual=inputs,
            parts=cfg.n_layers,
            scale=1.0 / math.sqrt(2.0),
        )
        tape.matmul(to_streams, x, changed)
        tape.combine(x, stream(streams, 0))
        for number in range(others):
            tape.rescale(stream(changed, number), x, stream(streams, number + 1))

        for layer, block in enumerate(blocks):
            everything = cfg.sees_everything(layer)
            rope = rope_everything if everything else rope_window
            slab = slabs[cfg.cells_of(layer)]

            tape.combine(stream(streams, cfg.active), x)
            route(block)
            tape.mix_streams(block.predict, router, streams, streams, predicted)
            tape.combine(stream(predicted, cfg.active), x)

            tape.rms_norm(block.attn_norm, x, h, eps)
            tape.matmul(block.laurel_left, h, low)
            tape.matmul(block.laurel_right, low, y)
            tape.rms_norm(block.laurel_norm, y, laurel, eps, residual=h)
            tape.matmul(block.q, h, q)
            tape.rotate(q, rope, heads=heads, pairing=halves, norm=block.q_norm, eps=eps)
            if block.k is not None and block.v is not None:
                kv_heads, norm = cfg.n_kv_heads, block.k_norm
                tape.matmul(block.k, h, k)
                tape.matmul(block.v, h, v)
                tape.rms_norm(None, v, v, eps, parts=kv_heads)
                tape.rotate(k, rope, heads=kv_heads, pairing=halves, norm=norm, eps=eps)
                tape.cache_store(k, v, slab)
            window = 0 if everything else cfg.window
            tape.attend(q, slab, mixed, heads=heads, kv_heads=cfg.n_kv_heads, window=window)
            tape.matmul(block.output, mixed, y)
            tape.rms_norm(block.post_attention_norm, y, x, eps, residual=x)
            tape.combine(x, x, other=laurel, scale=1.0 / math.sqrt(2.0))

            tape.rms_norm(block.ffn_norm, x, h, eps)
            tape.matmul(block.gate, h, gate)
            tape.matmul(block.up, h, up)
            if layer < SPARSE_LAYERS:
                tape.sparsify(gate, SPARSE_FACTOR)
            tape.gated_unit(gate, up, gate, Activation.GELU)
            tape.matmul(block.down, gate, y)
            tape.rms_norm(block.post_ffw_norm, y, x, eps, residual=x)

            route(block)
            tape.combine(x, x, other=stream(predicted, cfg.active), factor=-1.0)
            tape.mix_streams(block.correct, router, predicted, x, streams, bias=1.0)
            tape.combine(stream(streams, cfg.active), h, weight=block.correct_scale)
            own = inputs.columns(layer * cfg.layer_width, cfg.layer_width)  # (T, P)
            tape.matmul(block.input_gate, h, small)
            tape.gated_unit(small, own, small, Activation.GELU)
            tape.matmul(block.input_project, small, y)
            tape.rms_norm(block.input_norm, y, h, eps)
            for number in range(1, cfg.streams):
                tape.combine(stream(streams, number), stream(streams, number), other=h)

        tape.combine(stream(streams, cfg.active), h)
        tape.combine(stream(streams, 0), x, scale=1.0 / cfg.streams)
        for number in range(others):
            tape.combine(stream(streams, number + 1), y)
            tape.matmul(from_streams, y, changed)  # only its own part is needed
            tape.rescale(stream(changed, number), h, y)
            tape.combine(x, x, other=y, factor=1.0 / cfg.streams)
        if outputs == 0:
            tape.rms_norm(output_norm, x, h, eps)
            tape.hidden = h
            return tape
        last = tape.tensor(width, of=Count.OUTPUTS)  # (O, C)
        normed = tape.tensor(width, of=Count.OUTPUTS)  # (O, C)
        logits = tape.tensor(vocabulary, of=Count.OUTPUTS)  # (O, V)
        tape.select_rows(x, last)
        tape.rms_norm(output_norm, last, normed, eps, count=Count.OUTPUTS)
        tape.matmul(head, normed, logits, count=Count.OUTPUTS)
        tape.scale_logits(logits, soft_cap=SOFT_CAP)
        tape.logits = logits
        return tape

    return Program(
        weights=table.taken,
        constants={
            **table.constants,
            rope_everything.name: rope_table(cfg.head_size, cfg.rope_base),
            rope_window.name: rope_table(cfg.head_size, cfg.window_rope_base),
        },
        vocabulary=vocabulary,
        context=context,
        page_words=slabs[-1].end,
        max_rows=max_rows,
        max_outputs=max_outputs,
        record=record,
        tables=table.tables,
    )
