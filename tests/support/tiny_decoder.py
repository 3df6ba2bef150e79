"""Tiny models to the plan that most decoders share, in float32, random but fixed.

Their widths divide no tile, and their heads together are wider than the model.
"""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType as Type
from support.random_model import VOCABULARY, write_random_model

LAYERS = 3
WIDTH = 160
FEED_FORWARD = 416
HEADS, KV_HEADS, HEAD_SIZE = 6, 2, 64
CONTEXT = 96
QUERIES, KEYS = HEADS * HEAD_SIZE, KV_HEADS * HEAD_SIZE

BLOCK: dict[str, tuple[int, ...]] = {
    "attn_norm.weight": (WIDTH,),
    "attn_q.weight": (QUERIES, WIDTH),
    "attn_k.weight": (KEYS, WIDTH),
    "attn_v.weight": (KEYS, WIDTH),
    "attn_output.weight": (WIDTH, QUERIES),
    "ffn_norm.weight": (WIDTH,),
    "ffn_gate.weight": (FEED_FORWARD, WIDTH),
    "ffn_up.weight": (FEED_FORWARD, WIDTH),
    "ffn_down.weight": (WIDTH, FEED_FORWARD),
}
HEAD_NORMS: dict[str, tuple[int, ...]] = {
    "attn_q_norm.weight": (HEAD_SIZE,),
    "attn_k_norm.weight": (HEAD_SIZE,),
}
QKV_BIASES: dict[str, tuple[int, ...]] = {
    "attn_q.bias": (QUERIES,),
    "attn_k.bias": (KEYS,),
    "attn_v.bias": (KEYS,),
}
OUTPUT_BIAS: dict[str, tuple[int, ...]] = {"attn_output.bias": (WIDTH,)}
FEED_FORWARD_BIASES: dict[str, tuple[int, ...]] = {
    "ffn_gate.bias": (FEED_FORWARD,),
    "ffn_up.bias": (FEED_FORWARD,),
    "ffn_down.bias": (WIDTH,),
}
SANDWICH_NORMS: dict[str, tuple[int, ...]] = {
    "post_attention_norm.weight": (WIDTH,),
    "post_ffw_norm.weight": (WIDTH,),
}

# For architectures that llama.cpp knows only with heads that together are as wide as the model.
SQUARE = {
    "attention.head_count": 5,
    "attention.head_count_kv": 1,
    "attention.key_length": 32,
    "attention.value_length": 32,
}
SQUARE_BLOCK: dict[str, tuple[int, ...]] = {
    "attn_q.weight": (WIDTH, WIDTH),
    "attn_k.weight": (32, WIDTH),
    "attn_v.weight": (32, WIDTH),
    "attn_output.weight": (WIDTH, WIDTH),
}


def write_tiny_decoder(
    path: Path,
    architecture: str,
    *,
    metadata: Mapping[str, Any] | None = None,
    block: Mapping[str, tuple[int, ...]] | None = None,
    others: Mapping[str, tuple[int, ...]] | None = None,
    layers: int = LAYERS,
    without: tuple[str, ...] = (),
    replaced: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Writes the model. Keys of `metadata` lack the architecture's name; None leaves one out.

    `block` has further tensors of each layer, `others` further ones of the model; `without` names
    tensors of a layer or of the model to leave out; `replaced` as for any random model.
    """
    keys: dict[str, Any] = {
        "block_count": layers,
        "context_length": CONTEXT,
        "embedding_length": WIDTH,
        "feed_forward_length": FEED_FORWARD,
        "attention.head_count": HEADS,
        "attention.head_count_kv": KV_HEADS,
        "attention.key_length": HEAD_SIZE,
        "attention.value_length": HEAD_SIZE,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.freq_base": 1e4,
        **(metadata or {}),
    }
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (VOCABULARY, WIDTH),
        "output.weight": (VOCABULARY, WIDTH),
        "output_norm.weight": (WIDTH,),
        **(others or {}),
    }
    of_layer = BLOCK | dict(block or {})
    for layer in range(layers):
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in of_layer.items()}
    kept = {
        name: shape
        for name, shape in shapes.items()
        if name not in without and name.split(".", 2)[-1] not in without
    }
    formats: defaultdict[str, Type] = defaultdict(lambda: Type.F32)
    named = {f"{architecture}.{key}": value for key, value in keys.items()}
    return write_random_model(path, architecture, named, kept, formats, replaced=replaced)
