"""Gemma: no quirk can be switched off."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.tiny_decoder import write_tiny_decoder

write = partial(write_tiny_decoder, architecture="gemma", without=("output.weight",))

CASES: dict[str, Callable[[Path], Path]] = {
    "plain": write,
}
