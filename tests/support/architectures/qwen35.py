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
    architecture: str = "qwen35",
    experts: int = 0,
    has_pairs: bool = False,
    further: int = 0,
    layers: int = LAYERS,
    value_heads: int = 6,
    key_heads: int = 2,
    state_size: int = 16,
    taps: int = 4,
    metadata: Mapping[str, Any] | None = None,
    without: tuple[str, ...] = (),
    replaced: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Writes the model, and `further` blocks that predict more tokens; `metadata`, `without` and
    `replaced` as for any random model."""
    values = value_heads * state_size
    keys: dict[str, Any] = {
        f"{architecture}.block_count": layers + further,
        f"{architecture}.nextn_predict_layers": further,
        f"{architecture}.context_length": CONTEXT,
        f"{architecture}.embedding_length": WIDTH,
        f"{architecture}.feed_forward_length": FEED_FORWARD,
        f"{architecture}.attention.head_count": HEADS,
        f"{architecture}.attention.head_count_kv": KV_HEADS,
        f"{architecture}.attention.key_length": HEAD_SIZE,
        f"{architecture}.attention.value_length": HEAD_SIZE,
        f"{architecture}.attention.layer_norm_rms_epsilon": 1e-6,
        f"{architecture}.rope.freq_base": 1e7,
        f"{architecture}.rope.dimension_count": ROPE_SIZE,
        f"{architecture}.rope.dimension_sections": [2, 2, 2, 0],
        f"{architecture}.full_attention_interval": INTERVAL,
        f"{architecture}.ssm.conv_kernel": taps,
        f"{architecture}.ssm.state_size": state_size,
        f"{architecture}.ssm.group_count": key_heads,
        f"{architecture}.ssm.time_step_rank": value_heads,
        f"{architecture}.ssm.inner_size": values,
    }
    if experts:
        keys |= {
            f"{architecture}.expert_count": experts,
            f"{architecture}.expert_used_count": 3,
            f"{architecture}.expert_feed_forward_length": 64,
            f"{architecture}.expert_shared_feed_forward_length": 96,
        }
    keys |= metadata or {}
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
        **(
            {"ssm_ba.weight": (2 * value_heads, WIDTH)}
            if has_pairs
            else {"ssm_alpha.weight": (value_heads, WIDTH), "ssm_beta.weight": (value_heads, WIDTH)}
        ),
        "ssm_norm.weight": (state_size,),
        "ssm_out.weight": (WIDTH, values),
    }
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (VOCABULARY, WIDTH),
        "output_norm.weight": (WIDTH,),
    }
    others = dict(replaced or {})
    source = np.random.default_rng(5)
    for layer in range(layers + further):
        attends = layer >= layers or layer % INTERVAL == INTERVAL - 1
        block: dict[str, tuple[int, ...]] = {
            "attn_norm.weight": (WIDTH,),
            **(attention if attends else delta),
            "post_attention_norm.weight": (WIDTH,),
            **(_experts(experts) if experts else DENSE),
            **(FURTHER if layer >= layers else {}),
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
        path, architecture, keys, shapes, formats, without=without, replaced=others
    )


DENSE: dict[str, tuple[int, ...]] = {
    "ffn_gate.weight": (FEED_FORWARD, WIDTH),
    "ffn_up.weight": (FEED_FORWARD, WIDTH),
    "ffn_down.weight": (WIDTH, FEED_FORWARD),
}


FURTHER: dict[str, tuple[int, ...]] = {
    "nextn.eh_proj.weight": (WIDTH, 2 * WIDTH),
    "nextn.enorm.weight": (WIDTH,),
    "nextn.hnorm.weight": (WIDTH,),
    "nextn.shared_head_norm.weight": (WIDTH,),
}


def _experts(count: int) -> dict[str, tuple[int, ...]]:
    return {
        "ffn_gate_inp.weight": (count, WIDTH),
        "ffn_gate_exps.weight": (count, 64, WIDTH),
        "ffn_up_exps.weight": (count, 64, WIDTH),
        "ffn_down_exps.weight": (count, WIDTH, 64),
        "ffn_gate_inp_shexp.weight": (WIDTH,),
        "ffn_gate_shexp.weight": (96, WIDTH),
        "ffn_up_shexp.weight": (96, WIDTH),
        "ffn_down_shexp.weight": (WIDTH, 96),
    }


YARN: dict[str, Any] = {
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 4.0,
    "rope.scaling.original_context_length": 24,
    "rope.scaling.attn_factor": 1.1,
}

CASES: dict[str, Callable[[Path], Path]] = {
    "three value heads to a key head": write_tiny_qwen35,
    "as many key heads as value heads": partial(
        write_tiny_qwen35, value_heads=8, key_heads=8, state_size=20, taps=3
    ),
    "a block that predicts one more token": partial(write_tiny_qwen35, further=1),
    "yarn": partial(
        write_tiny_qwen35, metadata={f"qwen35.{key}": value for key, value in YARN.items()}
    ),
    "an output of its own": partial(
        write_tiny_qwen35,
        replaced={"output.weight": np.random.default_rng(2).normal(0.0, 0.1, (VOCABULARY, WIDTH))},
    ),
}
