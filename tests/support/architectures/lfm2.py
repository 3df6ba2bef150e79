"""LFM2: convolutions before, between and after layers that attend."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType as Type
from support.random_model import VOCABULARY, write_random_model

WIDTH = 96
FEED_FORWARD = 224
HEADS, KV_HEADS = 4, 2  # heads of 24 values
KV_HEADS_OF_LAYERS = (0, KV_HEADS, 0, 0, KV_HEADS, 0)
CONTEXT = 96


def write_tiny_lfm2(
    path: Path,
    *,
    taps: int = 3,
    kv_heads: tuple[int, ...] = KV_HEADS_OF_LAYERS,
    metadata: Mapping[str, Any] | None = None,
    without: tuple[str, ...] = (),
    replaced: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Writes the model; `metadata`, `without` and `replaced` as for any random model."""
    keys: dict[str, Any] = {
        "lfm2.block_count": len(KV_HEADS_OF_LAYERS),
        "lfm2.context_length": CONTEXT,
        "lfm2.embedding_length": WIDTH,
        "lfm2.feed_forward_length": FEED_FORWARD,
        "lfm2.attention.head_count": HEADS,
        "lfm2.attention.head_count_kv": list(kv_heads),
        "lfm2.attention.layer_norm_rms_epsilon": 1e-5,
        "lfm2.rope.freq_base": 1e6,
        "lfm2.shortconv.l_cache": taps,
        "lfm2.vocab_size": VOCABULARY,
        **(metadata or {}),
    }
    shapes = _shapes(taps)
    formats = {name.split(".")[-2]: Type.F32 for name in shapes}
    return write_random_model(
        path, "lfm2", keys, shapes, formats, without=without, replaced=replaced
    )


def _shapes(taps: int) -> dict[str, tuple[int, ...]]:
    size = WIDTH // HEADS
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (VOCABULARY, WIDTH),
        "token_embd_norm.weight": (WIDTH,),
    }
    attention: dict[str, tuple[int, ...]] = {
        "attn_q": (WIDTH, WIDTH),
        "attn_k": (KV_HEADS * size, WIDTH),
        "attn_v": (KV_HEADS * size, WIDTH),
        "attn_q_norm": (size,),
        "attn_k_norm": (size,),
        "attn_output": (WIDTH, WIDTH),
    }
    convolution = {
        "shortconv.in_proj": (3 * WIDTH, WIDTH),
        "shortconv.conv": (WIDTH, taps),
        "shortconv.out_proj": (WIDTH, WIDTH),
    }
    for layer, heads in enumerate(KV_HEADS_OF_LAYERS):
        block: dict[str, tuple[int, ...]] = {
            "attn_norm": (WIDTH,),
            **(attention if heads else convolution),
            "ffn_norm": (WIDTH,),
            "ffn_gate": (FEED_FORWARD, WIDTH),
            "ffn_up": (FEED_FORWARD, WIDTH),
            "ffn_down": (WIDTH, FEED_FORWARD),
        }
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in block.items()}
    return shapes


# Weights of a random model are small; these let a convolution weigh as much as the rest of a block.
LOUD = {
    f"blk.{layer}.shortconv.conv.weight": np.random.default_rng(layer).normal(0.0, 3.0, (WIDTH, 3))
    for layer, heads in enumerate(KV_HEADS_OF_LAYERS)
    if not heads
}
HEAD = np.random.default_rng(11).normal(0.0, 0.1, (VOCABULARY, WIDTH))

CASES: dict[str, Callable[[Path], Path]] = {
    "plain": partial(write_tiny_lfm2, replaced=LOUD),
    "four taps": partial(write_tiny_lfm2, taps=4),
    "a window": partial(
        write_tiny_lfm2, replaced=LOUD, metadata={"lfm2.attention.sliding_window": 7}
    ),
    "an output of its own": partial(write_tiny_lfm2, replaced={**LOUD, "output.weight": HEAD}),
}
