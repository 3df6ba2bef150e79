"""A Gemma 3n model of a few million weights, random but fixed.

It has more layers than have keys and values of their own, and a window shorter than prompts; its
widths divide no tile, but for the rank and the width of per-layer embeddings, which llama.cpp knows
by heart, as it does the number of streams.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType as Type
from support.random_model import VOCABULARY, write_random_model

LAYERS = 26
WIDTH = 96
FEED_FORWARD = 224
HEADS, KV_HEADS, HEAD_SIZE = 6, 2, 32
STREAMS = 4
RANK = 64
LAYER_WIDTH = 256
WINDOW = 5
CONTEXT = 96


def write_gemma3n(
    path: Path,
    *,
    formats: Mapping[str, Type] | None = None,
    metadata: Mapping[str, Any] | None = None,
    without: tuple[str, ...] = (),
    replaced: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Writes the model; `metadata`, `without` and `replaced` as for any random model."""
    keys: dict[str, Any] = {
        "gemma3n.block_count": LAYERS,
        "gemma3n.context_length": CONTEXT,
        "gemma3n.embedding_length": WIDTH,
        "gemma3n.feed_forward_length": [FEED_FORWARD] * LAYERS,
        "gemma3n.embedding_length_per_layer_input": LAYER_WIDTH,
        "gemma3n.altup.num_inputs": STREAMS,
        "gemma3n.altup.active_idx": 0,
        "gemma3n.attention.head_count": HEADS,
        "gemma3n.attention.head_count_kv": KV_HEADS,
        "gemma3n.attention.key_length": HEAD_SIZE,
        "gemma3n.attention.value_length": HEAD_SIZE,
        "gemma3n.attention.layer_norm_rms_epsilon": 1e-6,
        "gemma3n.attention.sliding_window": WINDOW,
        "gemma3n.attention.shared_kv_layers": LAYERS - 20,
        "gemma3n.rope.freq_base": 1e6,
        "gemma3n.rope.freq_base_swa": 1e4,
    }
    shapes = _shapes()
    given = dict.fromkeys((name.split(".")[-2] for name in shapes), Type.F32) | (formats or {})
    source = np.random.default_rng(11)
    others: dict[str, np.ndarray] = {}
    for name, shape in shapes.items():
        if name in without:
            continue
        if name.endswith("attn_q_norm.weight"):  # or all would attend to a single cell
            others[name] = source.uniform(0.1, 0.3, shape)
        elif len(shape) == 3:
            others[name] = source.normal(0.0, 0.1, shape)
        elif "coef" in name or "altup_router.weight" in name:
            others[name] = source.normal(0.0, 0.5, shape)
    return write_random_model(
        path,
        "gemma3n",
        keys | (metadata or {}),
        shapes,
        given,
        without=without,
        replaced=others | (replaced or {}),
    )


def _shapes() -> dict[str, tuple[int, ...]]:
    queries, keys = HEADS * HEAD_SIZE, KV_HEADS * HEAD_SIZE
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (VOCABULARY, WIDTH),
        "output_norm.weight": (WIDTH,),
        "per_layer_token_embd.weight": (VOCABULARY, LAYER_WIDTH * LAYERS),
        "per_layer_model_proj.weight": (LAYER_WIDTH * LAYERS, WIDTH),
        "per_layer_proj_norm.weight": (LAYER_WIDTH,),
        "altup_proj.weight": (STREAMS - 1, WIDTH, WIDTH),
        "altup_unembd_proj.weight": (STREAMS - 1, WIDTH, WIDTH),
    }
    block: dict[str, tuple[int, ...]] = {
        "attn_norm": (WIDTH,),
        "attn_q": (queries, WIDTH),
        "attn_q_norm": (HEAD_SIZE,),
        "attn_k": (keys, WIDTH),
        "attn_k_norm": (HEAD_SIZE,),
        "attn_v": (keys, WIDTH),
        "attn_output": (WIDTH, queries),
        "post_attention_norm": (WIDTH,),
        "laurel_l": (RANK, WIDTH),
        "laurel_r": (WIDTH, RANK),
        "laurel_post_norm": (WIDTH,),
        "ffn_norm": (WIDTH,),
        "ffn_gate": (FEED_FORWARD, WIDTH),
        "ffn_up": (FEED_FORWARD, WIDTH),
        "ffn_down": (WIDTH, FEED_FORWARD),
        "post_ffw_norm": (WIDTH,),
        "altup_router": (STREAMS, WIDTH),
        "altup_router_norm": (WIDTH,),
        "altup_predict_coef": (STREAMS**2, STREAMS),
        "altup_correct_coef": (STREAMS, STREAMS),
        "altup_correct_scale": (WIDTH,),
        "inp_gate": (LAYER_WIDTH, WIDTH),
        "proj": (WIDTH, LAYER_WIDTH),
        "post_norm": (WIDTH,),
    }
    for layer in range(LAYERS):
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in block.items()}
    return shapes


# Small errors grow from layer to layer, so logits are kept closer together.
FLAT = {"output_norm.weight": np.full(WIDTH, 0.25)}

CASES: dict[str, Callable[[Path], Path]] = {
    "layers that share keys and values": partial(write_gemma3n, replaced=FLAT)
}
