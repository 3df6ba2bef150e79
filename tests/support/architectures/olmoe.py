"""OLMoE: norms of all heads at once, shares that do not sum up to 1."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.tiny_decoder import SQUARE, WIDTH, write_tiny_decoder
from support.tiny_experts import DENSE, FEED_FORWARD, SIZES, SQUARE_EXPERTS

NORMS = {"attn_q_norm.weight": (WIDTH,), "attn_k_norm.weight": (WIDTH,)}
WIDE = {"attn_k.weight": (WIDTH, WIDTH), "attn_v.weight": (WIDTH, WIDTH)}

CASES: dict[str, Callable[[Path], Path]] = {
    "norms of all heads": partial(
        write_tiny_decoder,
        architecture="olmoe",
        metadata={
            **SQUARE,
            **SIZES,
            "attention.head_count_kv": SQUARE["attention.head_count"],
            "feed_forward_length": FEED_FORWARD,
        },
        block=SQUARE_EXPERTS | WIDE | NORMS,
        without=DENSE,
    )
}
