"""Qwen3 with experts, of widths that some block formats need."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from gguf import GGMLQuantizationType as Type
from support.random_model import write_random_model

LAYERS = 3
WIDTH = 320
HEADS, KV_HEADS, HEAD_SIZE = 6, 2, 64
EXPERTS, USED, FEED_FORWARD = 7, 3, 96
CONTEXT = 96
VOCABULARY = 300

KINDS = (
    "token_embd",
    "output",
    "attn_q",
    "attn_k",
    "attn_v",
    "attn_output",
    "ffn_gate_inp",
    "ffn_gate_exps",
    "ffn_up_exps",
    "ffn_down_exps",
)
F32 = dict.fromkeys(KINDS, Type.F32)
EQUAL = {**dict.fromkeys(KINDS, Type.Q8_0), "ffn_gate_inp": Type.F32, "ffn_down_exps": Type.Q5_0}
MIXED = {**dict.fromkeys(KINDS, Type.Q8_0), "ffn_gate_inp": Type.F32, "ffn_up_exps": Type.F16}


def write(
    path: Path,
    *,
    formats: Mapping[str, Type] = F32,
    width: int = WIDTH,
    feed_forward: int = FEED_FORWARD,
    metadata: Mapping[str, Any] | None = None,
    without: tuple[str, ...] = (),
) -> Path:
    keys: dict[str, Any] = {
        "qwen3moe.block_count": LAYERS,
        "qwen3moe.context_length": CONTEXT,
        "qwen3moe.embedding_length": width,
        "qwen3moe.feed_forward_length": 800,  # of no layer
        "qwen3moe.attention.head_count": HEADS,
        "qwen3moe.attention.head_count_kv": KV_HEADS,
        "qwen3moe.attention.key_length": HEAD_SIZE,
        "qwen3moe.attention.value_length": HEAD_SIZE,
        "qwen3moe.attention.layer_norm_rms_epsilon": 1e-6,
        "qwen3moe.rope.freq_base": 1e6,
        "qwen3moe.expert_count": EXPERTS,
        "qwen3moe.expert_used_count": USED,
        "qwen3moe.expert_feed_forward_length": feed_forward,
        **(metadata or {}),
    }
    return write_random_model(
        path, "qwen3moe", keys, _shapes(width, feed_forward), formats, without=without
    )


def _shapes(width: int, feed_forward: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (VOCABULARY, width),
        "output.weight": (VOCABULARY, width),
        "output_norm.weight": (width,),
    }
    for layer in range(LAYERS):
        block: dict[str, tuple[int, ...]] = {
            "attn_norm": (width,),
            "attn_q": (HEADS * HEAD_SIZE, width),
            "attn_k": (KV_HEADS * HEAD_SIZE, width),
            "attn_v": (KV_HEADS * HEAD_SIZE, width),
            "attn_q_norm": (HEAD_SIZE,),
            "attn_k_norm": (HEAD_SIZE,),
            "attn_output": (width, HEADS * HEAD_SIZE),
            "ffn_norm": (width,),
            "ffn_gate_inp": (EXPERTS, width),
            "ffn_gate_exps": (EXPERTS, feed_forward, width),
            "ffn_up_exps": (EXPERTS, feed_forward, width),
            "ffn_down_exps": (EXPERTS, width, feed_forward),
        }
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in block.items()}
    return shapes


CASES: dict[str, Callable[[Path], Path]] = {
    "plain": write,
    "output tied to the embedding": partial(write, without=("output.weight",)),
}
