"""A Llama model of a few hundred thousand weights, random but fixed.

Its widths and vocabulary divide no tile, and its heads together are wider than the model.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType as Type
from support.random_model import VOCABULARY, write_random_model

LAYERS = 3
WIDTH = 320  # no whole K-quant block
FEED_FORWARD = 800
HEADS, KV_HEADS, HEAD_SIZE = 8, 2, 64
CONTEXT = 96

MIXED = {
    "token_embd": Type.Q8_0,
    "output": Type.F16,
    "attn_q": Type.Q5_0,
    "attn_k": Type.F16,
    "attn_v": Type.Q8_0,
    "attn_output": Type.Q4_K,  # its rows are as long as all heads
    "ffn_gate": Type.Q5_0,
    "ffn_up": Type.F32,
    "ffn_down": Type.Q8_0,
}


def write_tiny_llama(
    path: Path,
    *,
    formats: Mapping[str, Type] = MIXED,
    width: int = WIDTH,
    feed_forward: int = FEED_FORWARD,
    head_size: int = HEAD_SIZE,
    vocabulary: int = VOCABULARY,
    metadata: Mapping[str, Any] | None = None,
    without: tuple[str, ...] = (),
    replaced: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Writes the model; `metadata`, `without` and `replaced` as for any random model."""
    keys: dict[str, Any] = {
        "llama.block_count": LAYERS,
        "llama.context_length": CONTEXT,
        "llama.embedding_length": width,
        "llama.feed_forward_length": feed_forward,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KV_HEADS,
        "llama.attention.key_length": head_size,
        "llama.attention.value_length": head_size,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": head_size,
        "llama.rope.freq_base": 5e5,
        **(metadata or {}),
    }
    return write_random_model(
        path,
        "llama",
        keys,
        _shapes(width, feed_forward, head_size, vocabulary),
        formats,
        vocabulary=vocabulary,
        without=without,
        replaced=replaced,
    )


def write_tiny_k_quant_llama(path: Path) -> Path:
    """The formats of a Q4_K_M file; the size of a head and of what is rotated are not given."""
    formats = dict.fromkeys(MIXED, Type.Q4_K)
    formats |= {"output": Type.Q6_K, "attn_v": Type.Q6_K, "ffn_down": Type.Q6_K}
    left_out = dict.fromkeys(
        ("attention.key_length", "attention.value_length", "rope.dimension_count")
    )
    return write_tiny_llama(
        path,
        formats=formats,
        width=HEADS * HEAD_SIZE,
        feed_forward=768,
        metadata={f"llama.{key}": value for key, value in left_out.items()},
    )


def _shapes(
    width: int, feed_forward: int, head_size: int, vocabulary: int
) -> dict[str, tuple[int, ...]]:
    queries, keys = HEADS * head_size, KV_HEADS * head_size
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (vocabulary, width),
        "output.weight": (vocabulary, width),
        "output_norm.weight": (width,),
    }
    for layer in range(LAYERS):
        block: dict[str, tuple[int, ...]] = {
            "attn_norm": (width,),
            "attn_q": (queries, width),
            "attn_k": (keys, width),
            "attn_v": (keys, width),
            "attn_output": (width, queries),
            "ffn_norm": (width,),
            "ffn_gate": (feed_forward, width),
            "ffn_up": (feed_forward, width),
            "ffn_down": (width, feed_forward),
        }
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in block.items()}
    return shapes
