"""Cohere 2: windows shorter than the prompt, and a layer without positions."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.architectures.command_r import SCALED
from support.tiny_decoder import SQUARE, SQUARE_BLOCK, write_tiny_decoder

write = partial(
    write_tiny_decoder,
    architecture="cohere2",
    metadata=SQUARE | SCALED | {"attention.sliding_window": 5},
    block=SQUARE_BLOCK,
    without=("output.weight", "ffn_norm.weight"),
    layers=5,
)

CASES: dict[str, Callable[[Path], Path]] = {
    "windows": write,
}
