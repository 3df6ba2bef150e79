"""EXAONE 4: windows shorter than the prompt, in as many layers as the largest has."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from support.tiny_decoder import SANDWICH_NORMS, SQUARE, SQUARE_BLOCK, WIDTH, write_tiny_decoder

WINDOWS = SQUARE | {"attention.sliding_window": 5}
# Small errors grow from layer to layer; with so many, logits are kept closer together.
FLAT = {"output_norm.weight": np.full(WIDTH, 0.4)}

SIZE = SQUARE["attention.key_length"]
NORMS = {"attn_q_norm.weight": (SIZE,), "attn_k_norm.weight": (SIZE,)}

write = partial(
    write_tiny_decoder,
    architecture="exaone4",
    metadata=SQUARE,
    block=SQUARE_BLOCK | SANDWICH_NORMS | NORMS,
    without=("attn_norm.weight", "ffn_norm.weight"),
)

CASES: dict[str, Callable[[Path], Path]] = {
    "plain": write,
    "windows": partial(
        write, metadata=SQUARE | {"attention.sliding_window": 5}, layers=64, replaced=FLAT
    ),
}
