"""StableLM: a quarter of a head rotated."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.tiny_decoder import SQUARE, SQUARE_BLOCK, WIDTH, write_tiny_decoder

EPS = {"attention.layer_norm_rms_epsilon": None, "attention.layer_norm_epsilon": 1e-5}
KEYS = SQUARE["attention.key_length"]
NORMS = {"attn_norm.bias": (WIDTH,), "ffn_norm.bias": (WIDTH,)}
BIASES = {"attn_q.bias": (WIDTH,), "attn_k.bias": (KEYS,), "attn_v.bias": (KEYS,)}

write = partial(
    write_tiny_decoder,
    architecture="stablelm",
    metadata=SQUARE | EPS | {"rope.dimension_count": 8},
    block=SQUARE_BLOCK | NORMS,
    others={"output_norm.bias": (WIDTH,)},
)

CASES: dict[str, Callable[[Path], Path]] = {
    "plain": write,
    "biases": partial(write, block=SQUARE_BLOCK | NORMS | BIASES),
}
