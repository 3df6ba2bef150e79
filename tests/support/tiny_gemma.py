"""A Gemma 3 model of a few thousand weights, random but fixed, in every block format we run.

Its window is shorter than the prompts of the tests, its head count, widths and vocabulary divide
no tile, and the sixth layer sees everything.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType as Type
from support.random_model import VOCABULARY, write_random_model

LAYERS = 8
WIDTH = 256  # the shortest row that every block format can store
FEED_FORWARD = 512
HEADS, KV_HEADS, HEAD_SIZE = 6, 2, 64
WINDOW = 5
PATTERN = 6
CONTEXT = 96

MIXED = {
    "token_embd": Type.Q8_0,
    "attn_q": Type.F16,
    "attn_k": Type.Q5_0,
    "attn_v": Type.Q6_K,
    "attn_output": Type.F32,
    "ffn_gate": Type.Q4_K,
    "ffn_up": Type.Q5_0,
    "ffn_down": Type.Q6_K,
}


def write_tiny_gemma(
    path: Path,
    *,
    formats: Mapping[str, Type] = MIXED,
    feed_forward: int = FEED_FORWARD,
    metadata: Mapping[str, Any] | None = None,
    without: tuple[str, ...] = (),
    replaced: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Writes the model; `metadata`, `without` and `replaced` as for any random model."""
    keys: dict[str, Any] = {
        "gemma3.block_count": LAYERS,
        "gemma3.context_length": CONTEXT,
        "gemma3.embedding_length": WIDTH,
        "gemma3.feed_forward_length": feed_forward,
        "gemma3.attention.head_count": HEADS,
        "gemma3.attention.head_count_kv": KV_HEADS,
        "gemma3.attention.key_length": HEAD_SIZE,
        "gemma3.attention.value_length": HEAD_SIZE,
        "gemma3.attention.sliding_window": WINDOW,
        "gemma3.attention.sliding_window_pattern": PATTERN,
        "gemma3.attention.layer_norm_rms_epsilon": 1e-6,
        "gemma3.rope.freq_base": 1e6,
        **(metadata or {}),
    }
    return write_random_model(
        path, "gemma3", keys, _shapes(feed_forward), formats, without=without, replaced=replaced
    )


def _shapes(feed_forward: int) -> dict[str, tuple[int, ...]]:
    queries, keys = HEADS * HEAD_SIZE, KV_HEADS * HEAD_SIZE
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (VOCABULARY, WIDTH),
        "output_norm.weight": (WIDTH,),
    }
    for layer in range(LAYERS):
        block: dict[str, tuple[int, ...]] = {
            "attn_norm": (WIDTH,),
            "attn_q": (queries, WIDTH),
            "attn_k": (keys, WIDTH),
            "attn_v": (keys, WIDTH),
            "attn_q_norm": (HEAD_SIZE,),
            "attn_k_norm": (HEAD_SIZE,),
            "attn_output": (WIDTH, queries),
            "post_attention_norm": (WIDTH,),
            "ffn_norm": (WIDTH,),
            "ffn_gate": (feed_forward, WIDTH),
            "ffn_up": (feed_forward, WIDTH),
            "ffn_down": (WIDTH, feed_forward),
            "post_ffw_norm": (WIDTH,),
        }
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in block.items()}
    return shapes
