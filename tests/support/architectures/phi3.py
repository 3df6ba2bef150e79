"""Phi-3: stacked matrices; part of a head rotated, with factors by the length of the context."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from support.tiny_decoder import FEED_FORWARD, SQUARE, WIDTH, write_tiny_decoder

HEAD_SIZE = SQUARE["attention.key_length"]
SIZES = SQUARE | {"attention.sliding_window": 5}
STACKED = {
    "attn_qkv.weight": (WIDTH + 2 * HEAD_SIZE, WIDTH),
    "attn_output.weight": (WIDTH, WIDTH),
    "ffn_up.weight": (2 * FEED_FORWARD, WIDTH),
}
TURNED = 3 * HEAD_SIZE // 4
FACTORS = {
    "rope_factors_short.weight": np.geomspace(1.0, 2.0, TURNED // 2),
    "rope_factors_long.weight": np.geomspace(1.5, 9.0, TURNED // 2),
}
PARTLY = SIZES | {"rope.dimension_count": TURNED, "rope.scaling.attn_factor": 1.3}

write = partial(
    write_tiny_decoder,
    architecture="phi3",
    block=STACKED,
    without=("attn_q.weight", "attn_k.weight", "attn_v.weight", "ffn_gate.weight"),
    metadata=SIZES,
)

CASES: dict[str, Callable[[Path], Path]] = {
    "plain": write,
    "a long context": partial(
        write,
        metadata=PARTLY | {"rope.scaling.original_context_length": 48},
        replaced=FACTORS,
    ),
    "a short context": partial(
        write,
        metadata=PARTLY | {"rope.scaling.original_context_length": 300},
        replaced=FACTORS,
    ),
}
