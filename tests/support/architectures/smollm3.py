"""SmolLM3: of five layers the fourth does not rotate."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.tiny_decoder import SQUARE, SQUARE_BLOCK, write_tiny_decoder

write = partial(
    write_tiny_decoder, architecture="smollm3", layers=5, metadata=SQUARE, block=SQUARE_BLOCK
)

CASES: dict[str, Callable[[Path], Path]] = {
    "plain": write,
    "output tied to the embedding": partial(write, without=("output.weight",)),
}
