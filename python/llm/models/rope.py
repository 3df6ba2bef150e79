"""Tables of rotary frequencies, exact enough for positions far beyond any context."""

import numpy as np

from llm.gpu.operations import Weight
from llm.gpu.program import Floats
from llm.models.weights import F32


def rope_table(size: int, base: float, factor: float | Floats = 1.0) -> Floats:
    """Turns a position makes, for each pair of `size` values, as (size/2, 2) sums of two floats.

    Pair i turns by position * base^(-2i/size) / factor radians. Source: Su et al. 2021, RoFormer;
    `factor` is linear position scaling (Chen et al. 2023), or one factor a pair, (size/2,).
    """
    pairs = np.arange(size // 2, dtype=np.float64)
    turns = np.power(base, -2.0 * pairs / size) / factor / (2.0 * np.pi)  # (size/2,)
    high = turns.astype(np.float32)
    low = (turns - high).astype(np.float32)
    return np.stack((high, low), axis=1)  # (size/2, 2)


def rope_weight(name: str, size: int) -> Weight:
    return Weight(name, F32, size // 2, 2)
