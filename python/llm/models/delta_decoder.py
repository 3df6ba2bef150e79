"""Decoders of gated DeltaNet, of which every few layers attend; whatever feeds forward in them.

A layer is a norm and one of the two, added to the residual stream, then a norm and a feed-forward.

Letters: T rows, O output rows, C width, V vocabulary.
"""

from dataclasses import dataclass

from llm.errors import ModelFileError
from llm.files.model_file import ModelFile
from llm.gpu.operations import CacheSlab, HeadMapping, StateSlab, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models.decoder import Ends
from llm.models.delta_net import DeltaNet, DeltaSizes, DeltaWork
from llm.models.feed_forwards import FeedForwards
from llm.models.gated_attention import AttentionSizes, AttentionWork, GatedAttention
from llm.models.rope import Rope
from llm.models.weights import WeightTable, positive


@dataclass(frozen=True, slots=True)
class DeltaConfig:
    architecture: str
    n_layers: int
    width: int  # C
    norm_eps: float
    interval: int  # every so many layers one attends
    attention: AttentionSizes
    delta: DeltaSizes

    @classmethod
    def from_gguf(cls, file: ModelFile, architecture: str, mapping: HeadMapping) -> "DeltaConfig":
        """Raises ModelFileError, UnsupportedModelError."""
        meta = file.metadata
        blocks = meta.int(f"{architecture}.block_count", minimum=1)
        eps_key = f"{architecture}.attention.layer_norm_rms_epsilon"
        further = meta.int(f"{architecture}.nextn_predict_layers", 0, maximum=blocks - 1)
        config = cls(
            architecture=architecture,
            n_layers=blocks - further,
            width=meta.int(f"{architecture}.embedding_length", minimum=1),
            norm_eps=positive(file, eps_key, meta.float(eps_key)),
            interval=meta.int(f"{architecture}.full_attention_interval", 4, minimum=2),
            attention=AttentionSizes.from_gguf(file, architecture),
            delta=DeltaSizes.from_gguf(file, architecture, mapping),
        )
        if config.n_layers < config.interval:
            key = f"{architecture}.full_attention_interval"
            problem = f"{config.interval} leaves none of {config.n_layers} layers to attend"
            raise ModelFileError(file.path, key, problem)
        return config

    def attends(self, layer: int) -> bool:
        return layer % self.interval == self.interval - 1


@dataclass(frozen=True, slots=True)
class Block:
    attn_norm: Weight  # (1, C)
    mixer: GatedAttention | DeltaNet
    ffn_norm: Weight  # (1, C)


def _take_blocks(
    table: WeightTable, cfg: DeltaConfig, slabs: list[CacheSlab], states: list[StateSlab]
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
        attn_norm, ffn_norm = (
            table.vector(f"{prefix}{name}.weight", cfg.width)
            for name in ("attn_norm", "post_attention_norm")
        )
        blocks.append(Block(attn_norm, mixer, ffn_norm))
    return blocks


def _block_of(name: str) -> int:
    """The number of the block that a tensor belongs to; -1 of none."""
    parts = name.split(".")
    return int(parts[1]) if parts[0] == "blk" and parts[1].isdecimal() else -1


def delta_program(
    file: ModelFile,
    cfg: DeltaConfig,
    table: WeightTable,
    feed_forwards: FeedForwards,
    context: int,
    max_rows: int,
    max_outputs: int,
) -> Program:
    """Raises ModelFileError where tensors are missing, or are not as the metadata say, and
    UnsupportedModelError for biases, further norms and unknown scalings of positions."""
    ends = Ends.take(table, cfg.width)
    slabs = CacheSlab.of_layers(cfg.n_layers // cfg.interval, cfg.attention.keys)
    states: list[StateSlab] = []
    blocks = _take_blocks(table, cfg, slabs, states)
    first_further = cfg.n_layers  # of the blocks that predict several tokens
    table.refuse_others(idle=[name for name in file.tensors if _block_of(name) >= first_further])
    rope = Rope.from_gguf(file, table, cfg.architecture, cfg.attention.head_size, context)

    def record(rows: int, outputs: int) -> Tape:
        tape = Tape(rows, outputs)
        x = tape.tensor(cfg.width)  # (T, C), the residual stream
        h = tape.tensor(cfg.width)  # (T, C)
        attention = AttentionWork(tape, cfg.attention, rope)
        delta = DeltaWork(tape, cfg.delta)
        feed_forward = feed_forwards.on(tape, h, x)
        eps = cfg.norm_eps

        tape.embed(ends.embedding, x)
        for layer, block in enumerate(blocks):
            tape.rms_norm(block.attn_norm, x, h, eps)
            if isinstance(block.mixer, GatedAttention):
                attention.add(block.mixer, h, x, eps)
            else:
                delta.add(block.mixer, h, x, eps)
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
