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
EXPERTS, EXPERT_FEED_FORWARD = 9, 64
HEADS, KV_HEADS = 4, 2  # heads of 24 values
KV_HEADS_OF_LAYERS = (0, KV_HEADS, 0, 0, KV_HEADS, 0)
CONTEXT = 96


def write_tiny_lfm2(
    path: Path,
    *,
    architecture: str = "lfm2",
    leading: int = len(KV_HEADS_OF_LAYERS),
    taps: int = 3,
    kv_heads: tuple[int, ...] = KV_HEADS_OF_LAYERS,
    metadata: Mapping[str, Any] | None = None,
    without: tuple[str, ...] = (),
    replaced: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Writes the model, with experts behind the `leading` layers; `metadata`, `without` and
    `replaced` as for any random model."""
    keys: dict[str, Any] = {
        f"{architecture}.block_count": len(KV_HEADS_OF_LAYERS),
        f"{architecture}.context_length": CONTEXT,
        f"{architecture}.embedding_length": WIDTH,
        f"{architecture}.feed_forward_length": FEED_FORWARD,
        f"{architecture}.attention.head_count": HEADS,
        f"{architecture}.attention.head_count_kv": list(kv_heads),
        f"{architecture}.attention.layer_norm_rms_epsilon": 1e-5,
        f"{architecture}.rope.freq_base": 1e6,
        f"{architecture}.shortconv.l_cache": taps,
        f"{architecture}.vocab_size": VOCABULARY,
    }
    if leading < len(KV_HEADS_OF_LAYERS):
        keys |= {
            f"{architecture}.leading_dense_block_count": leading,
            f"{architecture}.expert_count": EXPERTS,
            f"{architecture}.expert_used_count": 3,
            f"{architecture}.expert_feed_forward_length": EXPERT_FEED_FORWARD,
            f"{architecture}.expert_gating_func": 2,
        }
    keys |= metadata or {}
    shapes = _shapes(taps, leading)
    formats = {name.split(".")[-2]: Type.F32 for name in shapes}
    return write_random_model(
        path, architecture, keys, shapes, formats, without=without, replaced=replaced
    )


def _shapes(taps: int, leading: int) -> dict[str, tuple[int, ...]]:
    size = WIDTH // HEADS
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (VOCABULARY, WIDTH),
        "token_embd_norm.weight": (WIDTH,),
    }
    attention: dict[str, tuple[int, ...]] = {
        "attn_q.weight": (WIDTH, WIDTH),
        "attn_k.weight": (KV_HEADS * size, WIDTH),
        "attn_v.weight": (KV_HEADS * size, WIDTH),
        "attn_q_norm.weight": (size,),
        "attn_k_norm.weight": (size,),
        "attn_output.weight": (WIDTH, WIDTH),
    }
    convolution: dict[str, tuple[int, ...]] = {
        "shortconv.in_proj.weight": (3 * WIDTH, WIDTH),
        "shortconv.conv.weight": (WIDTH, taps),
        "shortconv.out_proj.weight": (WIDTH, WIDTH),
    }
    dense: dict[str, tuple[int, ...]] = {
        "ffn_gate.weight": (FEED_FORWARD, WIDTH),
        "ffn_up.weight": (FEED_FORWARD, WIDTH),
        "ffn_down.weight": (WIDTH, FEED_FORWARD),
    }
    experts: dict[str, tuple[int, ...]] = {
        "ffn_gate_inp.weight": (EXPERTS, WIDTH),
        "exp_probs_b.bias": (EXPERTS,),
        "ffn_gate_exps.weight": (EXPERTS, EXPERT_FEED_FORWARD, WIDTH),
        "ffn_up_exps.weight": (EXPERTS, EXPERT_FEED_FORWARD, WIDTH),
        "ffn_down_exps.weight": (EXPERTS, WIDTH, EXPERT_FEED_FORWARD),
    }
    for layer, heads in enumerate(KV_HEADS_OF_LAYERS):
        block: dict[str, tuple[int, ...]] = {
            "attn_norm.weight": (WIDTH,),
            **(attention if heads else convolution),
            "ffn_norm.weight": (WIDTH,),
            **(dense if layer < leading else experts),
        }
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in block.items()}
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
    "yarn": partial(
        write_tiny_lfm2,
        replaced=LOUD,
        metadata={
            "lfm2.rope.scaling.type": "yarn",
            "lfm2.rope.scaling.factor": 4.0,
            "lfm2.rope.scaling.original_context_length": 24,
        },
    ),
    "an output of its own": partial(write_tiny_lfm2, replaced={**LOUD, "output.weight": HEAD}),
}
