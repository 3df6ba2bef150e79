"""Gemma 2: a window shorter than the prompt, and caps that matter."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from support.tiny_decoder import SANDWICH_NORMS, WIDTH, write_tiny_decoder

CAPS = {
    "attn_logit_softcapping": 0.75,
    "final_logit_softcapping": 2.0,
    "attention.sliding_window": 5,
}

# Small errors grow from layer to layer; with so many, logits are kept closer together.
FLAT = {"output_norm.weight": np.full(WIDTH, 0.4)}

write = partial(
    write_tiny_decoder,
    architecture="gemma2",
    block=SANDWICH_NORMS,
    without=("output.weight",),
    metadata=CAPS,
)

CASES: dict[str, Callable[[Path], Path]] = {
    "windows and caps": write,
    "as many layers as 27B": partial(write, layers=46, replaced=FLAT),
}
