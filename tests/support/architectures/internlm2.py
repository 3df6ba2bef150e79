"""InternLM 2: no quirk can be switched off."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.tiny_decoder import SQUARE, SQUARE_BLOCK, write_tiny_decoder

write = partial(write_tiny_decoder, architecture="internlm2", metadata=SQUARE, block=SQUARE_BLOCK)

CASES: dict[str, Callable[[Path], Path]] = {
    "plain": write,
}
