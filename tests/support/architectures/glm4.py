"""GLM-4: half of a head rotated, gate and up in one matrix."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.tiny_decoder import (
    FEED_FORWARD,
    HEAD_SIZE,
    QKV_BIASES,
    SANDWICH_NORMS,
    WIDTH,
    write_tiny_decoder,
)

STACKED = {"ffn_up.weight": (2 * FEED_FORWARD, WIDTH)}

write = partial(
    write_tiny_decoder,
    architecture="glm4",
    metadata={"rope.dimension_count": HEAD_SIZE // 2},
    block=SANDWICH_NORMS | STACKED,
    without=("ffn_gate.weight",),
)

CASES: dict[str, Callable[[Path], Path]] = {
    "plain": write,
    "biases": partial(write, block=SANDWICH_NORMS | STACKED | QKV_BIASES),
}
