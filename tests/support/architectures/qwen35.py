"""Qwen3.5: three layers of gated DeltaNet, then one that attends, twice."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType as Type
from support.random_model import VOCABULARY, write_random_model

LAYERS, INTERVAL = 8, 4
WIDTH = 96
FEED_FORWARD = 160
HEADS, KV_HEADS, HEAD_SIZE = 4, 2, 40  # together wider than the model
ROPE_SIZE = 12
CONTEXT = 96


def write_tiny_qwen35(
    path: Path,
    *,
    layers: int = LAYERS,
    value_heads: int = 6,
    key_heads: int = 2,
    state_size: int = 16,
    taps: int = 4,
    metadata: Mapping[str, Any] | None = None,
    without: tuple[str, ...] = (),
    replaced: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Writes the model; `metadata`, `without` and `replaced` as for any random model."""
    values = value_heads * state_size
    keys: dict[str, Any] = {
        "qwen35.block_count": layers,
        "qwen35.context_length": CONTEXT,
        "qwen35.embedding_length": WIDTH,
        "qwen35.feed_forward_length": FEED_FORWARD,
        "qwen35.attention.head_count": HEADS,
        "qwen35.attention.head_count_kv": KV_HEADS,
        "qwen35.attention.key_length": HEAD_SIZE,
        "qwen35.attention.value_length": HEAD_SIZE,
        "qwen35.attention.layer_norm_rms_epsilon": 1e-6,
        "qwen35.rope.freq_base": 1e7,
        "qwen35.rope.dimension_count": ROPE_SIZE,
        "qwen35.rope.dimension_sections": [2, 2, 2, 0],
        "qwen35.full_attention_interval": INTERVAL,
        "qwen35.ssm.conv_kernel": taps,
        "qwen35.ssm.state_size": state_size,
        "qwen35.ssm.group_count": key_heads,
        "qwen35.ssm.time_step_rank": value_heads,
        "qwen35.ssm.inner_size": values,
        **(metadata or {}),
    }
    queries = HEADS * HEAD_SIZE
    convolved = 2 * key_heads * state_size + values
    attention: dict[str, tuple[int, ...]] = {
        "attn_q.weight": (2 * queries, WIDTH),
        "attn_k.weight": (KV_HEADS * HEAD_SIZE, WIDTH),
        "attn_v.weight": (KV_HEADS * HEAD_SIZE, WIDTH),
        "attn_q_norm.weight": (HEAD_SIZE,),
        "attn_k_norm.weight": (HEAD_SIZE,),
        "attn_output.weight": (WIDTH, queries),
    }
    delta: dict[str, tuple[int, ...]] = {
        "attn_qkv.weight": (convolved, WIDTH),
        "attn_gate.weight": (values, WIDTH),
        "ssm_alpha.weight": (value_heads, WIDTH),
        "ssm_beta.weight": (value_heads, WIDTH),
        "ssm_norm.weight": (state_size,),
        "ssm_out.weight": (WIDTH, values),
    }
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (VOCABULARY, WIDTH),
        "output_norm.weight": (WIDTH,),
    }
    others = dict(replaced or {})
    source = np.random.default_rng(5)
    for layer in range(layers):
        attends = layer % INTERVAL == INTERVAL - 1
        block: dict[str, tuple[int, ...]] = {
            "attn_norm.weight": (WIDTH,),
            **(attention if attends else delta),
            "post_attention_norm.weight": (WIDTH,),
            "ffn_gate.weight": (FEED_FORWARD, WIDTH),
            "ffn_up.weight": (FEED_FORWARD, WIDTH),
            "ffn_down.weight": (WIDTH, FEED_FORWARD),
        }
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in block.items()}
        if not attends:  # values as large as in a trained model, so that each part counts
            others |= {
                f"blk.{layer}.ssm_conv1d.weight": source.normal(0.0, 0.5, (convolved, taps)),
                f"blk.{layer}.ssm_a": -source.uniform(0.02, 1.0, value_heads),
                f"blk.{layer}.ssm_dt.bias": source.normal(-1.0, 1.0, value_heads),
            }
    formats = {name.split(".")[-2]: Type.F32 for name in shapes}
    return write_random_model(
        path, "qwen35", keys, shapes, formats, without=without, replaced=others
    )


CASES: dict[str, Callable[[Path], Path]] = {
    "three value heads to a key head": write_tiny_qwen35,
    "as many key heads as value heads": partial(
        write_tiny_qwen35, value_heads=8, key_heads=8, state_size=20, taps=3
    ),
    "an output of its own": partial(
        write_tiny_qwen35,
        replaced={"output.weight": np.random.default_rng(2).normal(0.0, 0.1, (VOCABULARY, WIDTH))},
    ),
}
