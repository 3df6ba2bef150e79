"""Qwen2: biases of queries, keys and values."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.tiny_decoder import SQUARE, SQUARE_BLOCK, WIDTH, write_tiny_decoder

KEYS = SQUARE["attention.key_length"]
BIASES = {"attn_q.bias": (WIDTH,), "attn_k.bias": (KEYS,), "attn_v.bias": (KEYS,)}

write = partial(
    write_tiny_decoder, architecture="qwen2", metadata=SQUARE, block=SQUARE_BLOCK | BIASES
)

CASES: dict[str, Callable[[Path], Path]] = {
    "biases": write,
    "output tied to the embedding": partial(write, without=("output.weight",)),
}
