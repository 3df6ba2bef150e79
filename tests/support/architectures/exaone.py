"""EXAONE 3: factors of frequencies."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from support.tiny_decoder import HEAD_SIZE, write_tiny_decoder

FACTORS = np.geomspace(1.0, 8.0, HEAD_SIZE // 2)

write = partial(write_tiny_decoder, architecture="exaone")

CASES: dict[str, Callable[[Path], Path]] = {
    "plain": write,
    "factors of frequencies": partial(write, replaced={"rope_freqs.weight": FACTORS}),
}
