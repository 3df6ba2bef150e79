"""Decoders of short convolutions, of which a few layers attend; whatever feeds forward in them.

A layer is a norm and one of the two, added to the residual stream, then a norm and a feed-forward.

Letters: T rows, O output rows, C width, H query heads, G key/value heads, D head size, K taps of a
convolution, V vocabulary.
"""

import math
from dataclasses import dataclass

from llm.errors import ModelFileError
from llm.files.model_file import ModelFile
from llm.gpu.operations import CacheSlab, Pairing, StateSlab, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models.decoder import Ends
from llm.models.feed_forwards import FeedForwards
from llm.models.rope import Rope
from llm.models.weights import WeightTable, positive

MAX_HEAD_SIZE = 512  # shared memory of the attention kernel
MAX_TAPS = 16


@dataclass(frozen=True, slots=True)
class ConvolutionConfig:
    architecture: str
    n_layers: int
    width: int  # C
    n_heads: int  # H
    kv_heads_of_layers: tuple[int, ...]  # G, or 0 of a layer that convolves
    head_size: int  # D
    taps: int  # K
    norm_eps: float
    window: int  # tokens that attention sees; 0: all

    @classmethod
    def from_gguf(cls, file: ModelFile, architecture: str) -> "ConvolutionConfig":
        """Raises ModelFileError."""
        meta = file.metadata
        eps_key = f"{architecture}.attention.layer_norm_rms_epsilon"
        width = meta.int(f"{architecture}.embedding_length", minimum=1)
        n_heads = meta.int(f"{architecture}.attention.head_count", minimum=1)
        config = cls(
            architecture=architecture,
            n_layers=meta.int(f"{architecture}.block_count", minimum=1),
            width=width,
            n_heads=n_heads,
            kv_heads_of_layers=tuple(
                int(heads) for heads in meta.numbers(f"{architecture}.attention.head_count_kv")
            ),
            head_size=meta.int(f"{architecture}.attention.key_length", default=width // n_heads),
            taps=meta.int(f"{architecture}.shortconv.l_cache", minimum=2, maximum=MAX_TAPS),
            norm_eps=positive(file, eps_key, meta.float(eps_key)),
            window=meta.int(f"{architecture}.attention.sliding_window", default=0),
        )
        config._check(file)
        return config

    def _check(self, file: ModelFile) -> None:
        prefix = f"{self.architecture}.attention."
        key = prefix + "head_count_kv"
        if len(self.kv_heads_of_layers) != self.n_layers:
            problem = f"has {len(self.kv_heads_of_layers)} numbers for {self.n_layers} layers"
            raise ModelFileError(file.path, key, problem)
        kinds = sorted(set(self.kv_heads_of_layers))
        if kinds[0] != 0 or len(kinds) != 2:
            problem = f"has {kinds}; 0 and one number of heads are needed"
            raise ModelFileError(file.path, key, problem)
        if self.n_heads % self.n_kv_heads:
            problem = f"{self.n_heads} heads do not share {self.n_kv_heads} key/value heads evenly"
            raise ModelFileError(file.path, prefix + "head_count", problem)
        if self.head_size % 8 or not 0 < self.head_size <= MAX_HEAD_SIZE:
            problem = f"{self.head_size} is not a multiple of 8 up to {MAX_HEAD_SIZE}"
            raise ModelFileError(file.path, prefix + "key_length", problem)

    @property
    def n_kv_heads(self) -> int:
        """G, of the layers that attend."""
        return max(self.kv_heads_of_layers)


@dataclass(frozen=True, slots=True)
class Attention:
    q: Weight  # (H*D, C)
    k: Weight  # (G*D, C)
    v: Weight  # (G*D, C)
    q_norm: Weight  # (1, D)
    k_norm: Weight  # (1, D)
    output: Weight  # (C, H*D)
    cells: CacheSlab

    @classmethod
    def take(
        cls, table: WeightTable, prefix: str, cfg: ConvolutionConfig, cells: CacheSlab
    ) -> "Attention":
        width, size = cfg.width, cfg.head_size
        queries, keys = cfg.n_heads * size, cfg.n_kv_heads * size
        return cls(
            q=table.matrix(prefix + "attn_q.weight", queries, width),
            k=table.matrix(prefix + "attn_k.weight", keys, width),
            v=table.matrix(prefix + "attn_v.weight", keys, width),
            q_norm=table.vector(prefix + "attn_q_norm.weight", size),
            k_norm=table.vector(prefix + "attn_k_norm.weight", size),
            output=table.matrix(prefix + "attn_output.weight", width, queries),
            cells=cells,
        )


@dataclass(frozen=True, slots=True)
class Convolution:
    input: Weight  # (3*C, C)
    taps: Weight  # (C, K)
    output: Weight  # (C, C)
    state: StateSlab  # (K - 1, C)

    @classmethod
    def take(
        cls, table: WeightTable, prefix: str, cfg: ConvolutionConfig, state: StateSlab
    ) -> "Convolution":
        width = cfg.width
        return cls(
            input=table.matrix(prefix + "shortconv.in_proj.weight", 3 * width, width),
            taps=table.floats(prefix + "shortconv.conv.weight", width, cfg.taps),
            output=table.matrix(prefix + "shortconv.out_proj.weight", width, width),
            state=state,
        )


@dataclass(frozen=True, slots=True)
class Block:
    attn_norm: Weight  # (1, C)
    mixer: Attention | Convolution
    ffn_norm: Weight  # (1, C)

    @classmethod
    def take(
        cls, table: WeightTable, layer: int, cfg: ConvolutionConfig, place: CacheSlab | StateSlab
    ) -> "Block":
        prefix = f"blk.{layer}."
        return cls(
            attn_norm=table.vector(prefix + "attn_norm.weight", cfg.width),
            mixer=Attention.take(table, prefix, cfg, place)
            if isinstance(place, CacheSlab)
            else Convolution.take(table, prefix, cfg, place),
            ffn_norm=table.vector(prefix + "ffn_norm.weight", cfg.width),
        )


def convolution_program(
    file: ModelFile,
    cfg: ConvolutionConfig,
    table: WeightTable,
    feed_forwards: FeedForwards,
    context: int,
    max_rows: int,
    max_outputs: int,
) -> Program:
    """Raises ModelFileError where tensors are missing, or are not as the metadata say, and
    UnsupportedModelError for biases, further norms and unknown scalings of positions."""
    ends = Ends.take(table, cfg.width, norm="token_embd_norm")
    keys_width = cfg.n_kv_heads * cfg.head_size  # G*D
    attending = [layer for layer, heads in enumerate(cfg.kv_heads_of_layers) if heads]
    slabs = CacheSlab.of_layers(len(attending), keys_width)
    states: list[StateSlab] = []
    blocks = []
    for layer in range(cfg.n_layers):
        if layer in attending:
            place: CacheSlab | StateSlab = slabs[attending.index(layer)]
        else:
            place = StateSlab.after(states, (cfg.taps - 1) * cfg.width)
            states.append(place)
        blocks.append(Block.take(table, layer, cfg, place))
    table.refuse_others()
    rope = Rope.from_gguf(file, table, cfg.architecture, cfg.head_size, context)

    def record(rows: int, outputs: int) -> Tape:
        tape = Tape(rows, outputs)
        x = tape.tensor(cfg.width)  # (T, C), the residual stream
        h = tape.tensor(cfg.width)  # (T, C)
        q = tape.tensor(cfg.n_heads * cfg.head_size)  # (T, H*D)
        k = tape.tensor(keys_width)  # (T, G*D)
        v = tape.tensor(keys_width)  # (T, G*D)
        mixed = tape.tensor(cfg.n_heads * cfg.head_size)  # (T, H*D)
        parts = tape.tensor(3 * cfg.width)  # (T, 3*C)
        convolved = tape.tensor(cfg.width)  # (T, C)
        feed_forward = feed_forwards.on(tape, h, x)
        eps = cfg.norm_eps
        query_scale = 1.0 / math.sqrt(cfg.head_size)

        def attend(of: Attention) -> None:
            tape.matmul(of.q, h, q)
            tape.matmul(of.k, h, k)
            tape.matmul(of.v, h, v)
            for heads, n_heads, norm, scale in (
                (q, cfg.n_heads, of.q_norm, query_scale),
                (k, cfg.n_kv_heads, of.k_norm, 1.0),
            ):
                tape.rotate(
                    heads,
                    rope.weight,
                    heads=n_heads,
                    pairing=Pairing.HALVES,
                    norm=norm,
                    eps=eps,
                    scale=scale,
                    magnitude=rope.magnitude,
                )
            tape.cache_store(k, v, of.cells)
            tape.attend(
                q,
                of.cells,
                mixed,
                heads=cfg.n_heads,
                kv_heads=cfg.n_kv_heads,
                window=cfg.window,
            )
            tape.matmul(of.output, mixed, x, residual=x)

        def convolve(of: Convolution) -> None:
            tape.matmul(of.input, h, parts)
            tape.convolve(of.taps, parts, convolved, of.state, is_gated=True)
            tape.matmul(of.output, convolved, x, residual=x)

        tape.embed(ends.embedding, x)
        for layer, block in enumerate(blocks):
            tape.rms_norm(block.attn_norm, x, h, eps)
            if isinstance(block.mixer, Attention):
                attend(block.mixer)
            else:
                convolve(block.mixer)

            tape.rms_norm(block.ffn_norm, x, h, eps)
            feed_forward(layer)
        return ends.record(tape, x, eps)

    return Program(
        weights=table.taken,
        constants=rope.constants,
        vocabulary=ends.vocabulary,
        context=context,
        page_words=slabs[-1].end,
        max_rows=max_rows,
        max_outputs=max_outputs,
        record=record,
        state_words=states[-1].end,
    )
