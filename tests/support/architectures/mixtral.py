"""Mixtral, whose files say that they are llama."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.tiny_decoder import write_tiny_decoder
from support.tiny_experts import BLOCK, DENSE, FEED_FORWARD, SIZES

CASES: dict[str, Callable[[Path], Path]] = {
    "experts": partial(
        write_tiny_decoder,
        architecture="llama",
        metadata={**SIZES, "feed_forward_length": FEED_FORWARD},
        block=BLOCK,
        without=DENSE,
    )
}
