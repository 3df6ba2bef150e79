"""LFM2 with experts in all layers but the first two: see lfm2.py."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from support.architectures.lfm2 import EXPERTS, KV_HEADS_OF_LAYERS, LOUD, write_tiny_lfm2

LEADING = 2
# As large as the scores differ, so that they change which experts are chosen.
BIASES = {
    f"blk.{layer}.exp_probs_b.bias": np.random.default_rng(layer).normal(0.0, 0.2, EXPERTS)
    for layer in range(LEADING, len(KV_HEADS_OF_LAYERS))
}

CASES: dict[str, Callable[[Path], Path]] = {
    "experts": partial(
        write_tiny_lfm2, architecture="lfm2moe", leading=LEADING, replaced=LOUD | BIASES
    ),
}
