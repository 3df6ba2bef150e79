"""Llama: see tiny_llama.py."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from support.tiny_llama import HEAD_SIZE, MIXED, write_tiny_llama

FACTORS = np.geomspace(1.0, 8.0, HEAD_SIZE // 2)
LINEAR = {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0}

write = partial(write_tiny_llama, formats=dict.fromkeys(MIXED, Type.F32))

CASES: dict[str, Callable[[Path], Path]] = {
    "plain": write,
    "output tied to the embedding": partial(write, without=("output.weight",)),
    "factors of frequencies": partial(write, replaced={"rope_freqs.weight": FACTORS}),
    "linear scaling of positions": partial(write, metadata=LINEAR),
}
