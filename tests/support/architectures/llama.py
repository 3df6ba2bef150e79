"""Llama: scalings of positions, and biases."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from support.tiny_decoder import (
    FEED_FORWARD_BIASES,
    HEAD_SIZE,
    OUTPUT_BIAS,
    QKV_BIASES,
    write_tiny_decoder,
)

LINEAR = {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}
NONE = {"rope.scaling.type": "none", "rope.scaling.factor": 4.0}
YARN = {
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 4.0,
    "rope.scaling.original_context_length": 24,
    "rope.scaling.attn_factor": 1.1,
}
LONGROPE = {"rope.scaling.type": "longrope", "rope.scaling.original_context_length": 48}
FACTORS = np.geomspace(1.0, 8.0, HEAD_SIZE // 2)

write = partial(write_tiny_decoder, architecture="llama")

CASES: dict[str, Callable[[Path], Path]] = {
    "plain": write,
    "output tied to the embedding": partial(write, without=("output.weight",)),
    "factors of frequencies": partial(write, replaced={"rope_freqs.weight": FACTORS}),
    "linear scaling of positions": partial(write, metadata=LINEAR),
    "a scaling that is none": partial(write, metadata=NONE),
    "yarn": partial(write, metadata=YARN),
    "longrope": partial(
        write,
        metadata=LONGROPE | {"rope.scaling.attn_factor": 1.2},
        replaced={
            "rope_factors_short.weight": np.ones(HEAD_SIZE // 2),
            "rope_factors_long.weight": FACTORS,
        },
    ),
    "biases of queries, keys and values": partial(write, block=QKV_BIASES),
    "biases of all products": partial(write, block=QKV_BIASES | OUTPUT_BIAS | FEED_FORWARD_BIASES),
}
