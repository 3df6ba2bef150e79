"""Command R: two halves of a block that read the same norm."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.tiny_decoder import SQUARE, SQUARE_BLOCK, write_tiny_decoder

SCALED = {
    "attention.layer_norm_rms_epsilon": None,
    "attention.layer_norm_epsilon": 1e-5,
    "logit_scale": 4.0,
}

write = partial(
    write_tiny_decoder,
    architecture="command-r",
    metadata=SQUARE | SCALED,
    block=SQUARE_BLOCK,
    without=("output.weight", "ffn_norm.weight"),
)

CASES: dict[str, Callable[[Path], Path]] = {
    "plain": write,
}
