"""Qwen2 with experts: biases, and one expert that every token uses by a share."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.tiny_decoder import SQUARE, WIDTH, write_tiny_decoder
from support.tiny_experts import DENSE, SHARED, SHARED_BLOCK, SQUARE_EXPERTS, WITH_WIDTH

KEYS = SQUARE["attention.key_length"]
BIASES = {"attn_q.bias": (WIDTH,), "attn_k.bias": (KEYS,), "attn_v.bias": (KEYS,)}

CASES: dict[str, Callable[[Path], Path]] = {
    "an expert that all use": partial(
        write_tiny_decoder,
        architecture="qwen2moe",
        metadata={**SQUARE, **WITH_WIDTH, "expert_shared_feed_forward_length": SHARED},
        block={
            **SQUARE_EXPERTS,
            **BIASES,
            **SHARED_BLOCK,
            "ffn_gate_inp_shexp.weight": (WIDTH,),
        },
        without=DENSE,
    )
}
