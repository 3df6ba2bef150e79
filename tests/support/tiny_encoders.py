"""Tiny encoders of every kind, in float32, random but fixed; each case has other quirks.

Their widths divide no tile, and windows are shorter than the longest text.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType as Type
from support.random_model import VOCABULARY, write_random_model
from support.tiny_decoder import HEAD_NORMS, SANDWICH_NORMS, write_tiny_decoder

LAYERS = 3
WIDTH = 160
FEED_FORWARD = 416
HEADS = 5
CONTEXT = 96

Shapes = dict[str, tuple[int, ...]]

FRONT: Shapes = {
    "token_embd.weight": (VOCABULARY, WIDTH),
    "token_types.weight": (2, WIDTH),
    "token_embd_norm.weight": (WIDTH,),
    "token_embd_norm.bias": (WIDTH,),
}
POSITIONS: Shapes = {"position_embd.weight": (CONTEXT, WIDTH)}
BLOCK: Shapes = {
    "attn_output.weight": (WIDTH, WIDTH),
    "attn_output_norm.weight": (WIDTH,),
    "attn_output_norm.bias": (WIDTH,),
    "ffn_up.weight": (FEED_FORWARD, WIDTH),
    "ffn_down.weight": (WIDTH, FEED_FORWARD),
    "layer_output_norm.weight": (WIDTH,),
    "layer_output_norm.bias": (WIDTH,),
}
BERT_BLOCK: Shapes = BLOCK | {
    "attn_q.weight": (WIDTH, WIDTH),
    "attn_k.weight": (WIDTH, WIDTH),
    "attn_v.weight": (WIDTH, WIDTH),
    "attn_q.bias": (WIDTH,),
    "attn_k.bias": (WIDTH,),
    "attn_v.bias": (WIDTH,),
    "attn_output.bias": (WIDTH,),
    "ffn_up.bias": (FEED_FORWARD,),
    "ffn_down.bias": (WIDTH,),
}
JINA_BLOCK: Shapes = {
    name: shape for name, shape in BERT_BLOCK.items() if name != "ffn_up.bias"
} | {"ffn_gate.weight": (FEED_FORWARD, WIDTH)}
STACKED: Shapes = {"ffn_up.weight": (2 * FEED_FORWARD, WIDTH)}
NOMIC_BLOCK: Shapes = BLOCK | {
    "attn_qkv.weight": (3 * WIDTH, WIDTH),
    "ffn_gate.weight": (FEED_FORWARD, WIDTH),
}


def write_tiny_encoder(
    path: Path,
    architecture: str,
    *,
    block: Shapes,
    front: Shapes = FRONT,
    metadata: Mapping[str, Any] | None = None,
    word_pieces: bool = True,
    without: tuple[str, ...] = (),
    replaced: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Writes the model. Keys of `metadata` lack the architecture's name; None leaves one out.

    `without` names tensors to leave out, `replaced` gives some of another content.
    """
    keys: dict[str, Any] = {
        "block_count": LAYERS,
        "context_length": CONTEXT,
        "embedding_length": WIDTH,
        "feed_forward_length": FEED_FORWARD,
        "attention.head_count": HEADS,
        "attention.layer_norm_epsilon": 1e-12,
        "attention.causal": False,
        "pooling_type": 1,
        **(metadata or {}),
    }
    named = {f"{architecture}.{key}": value for key, value in keys.items()}
    types = front["token_types.weight"]
    named["tokenizer.ggml.token_type_count"] = types[0] if len(types) > 1 else 1
    shapes = dict(front)
    for layer in range(LAYERS):
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in block.items()}
    formats: defaultdict[str, Type] = defaultdict(lambda: Type.F32)
    return write_random_model(
        path,
        architecture,
        named,
        shapes,
        formats,
        word_pieces=word_pieces,
        without=without,
        replaced=replaced,
    )


bert = partial(write_tiny_encoder, architecture="bert", block=BERT_BLOCK, front=FRONT | POSITIONS)
nomic = partial(
    write_tiny_encoder,
    architecture="nomic-bert",
    block=NOMIC_BLOCK,
    metadata={"rope.freq_base": 1000.0},
)
jina = partial(write_tiny_encoder, architecture="jina-bert-v2")
WINDOW = {"attention.sliding_window": 9, "rope.freq_base": 1e6, "pooling_type": 1}
gemma = partial(
    write_tiny_decoder,
    architecture="gemma-embedding",
    block=HEAD_NORMS | SANDWICH_NORMS,
    without=("output.weight",),
    metadata=WINDOW,
    layers=8,
)
DENSE: Shapes = {"dense_2.weight": (416, WIDTH), "dense_3.weight": (WIDTH, 416)}
DENSE_SIZES = {
    "dense_2_feat_in": WIDTH,
    "dense_2_feat_out": 416,
    "dense_3_feat_in": 416,
    "dense_3_feat_out": WIDTH,
}

ENCODERS: dict[str, Callable[[Path], Path]] = {
    "bert": bert,
    "bert, the first row": partial(bert, metadata={"pooling_type": 2}),
    "bert, one type of tokens": partial(
        bert, front=FRONT | POSITIONS | {"token_types.weight": (WIDTH,)}
    ),
    "bert, no types of tokens, merges": partial(
        bert, word_pieces=False, without=("token_types.weight",)
    ),
    "nomic-bert": nomic,
    "jina-bert-v2": partial(jina, block=JINA_BLOCK),
    "jina-bert-v2, gate and up in one matrix": partial(
        jina,
        block={name: JINA_BLOCK[name] for name in JINA_BLOCK if name != "ffn_gate.weight"}
        | STACKED,
    ),
    "gemma-embedding": gemma,
    "gemma-embedding, matrices after the pooling": partial(
        gemma, others=DENSE, metadata=WINDOW | DENSE_SIZES
    ),
}
