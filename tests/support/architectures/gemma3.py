"""Gemma 3: a window shorter than the prompt, of six layers one sees everything."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from support.tiny_decoder import HEAD_NORMS, SANDWICH_NORMS, WIDTH, write_tiny_decoder

WINDOW = {"attention.sliding_window": 5, "rope.freq_base": 1e6}
LONG = {"rope.scaling.type": "linear", "rope.scaling.factor": 8.0}

# Small errors grow from layer to layer; with so many, logits are kept closer together.
FLAT = {"output_norm.weight": np.full(WIDTH, 0.4)}

write = partial(
    write_tiny_decoder,
    architecture="gemma3",
    block=HEAD_NORMS | SANDWICH_NORMS,
    without=("output.weight",),
    metadata=WINDOW,
    layers=8,
)

CASES: dict[str, Callable[[Path], Path]] = {
    "windows": write,
    "4B and larger: positions scaled where a layer sees everything": partial(
        write, metadata=WINDOW | LONG
    ),
    "as many layers as 27B": partial(write, metadata=WINDOW | LONG, layers=62, replaced=FLAT),
}
