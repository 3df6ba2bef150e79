"""Blocks of 32 numbers of 4 bits and an exponent, from a folder's order to GGUF's.

Folders hold the numbers in a tensor, two neighbours in a byte, the first in its low half, and the
exponents in another. GGUF puts a block's exponent before its numbers, and number i + 16 beside
number i. Both count exponents alike. Source: Open Compute Project, Microscaling Formats (2023).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

SUFFIXES: Final = ("_blocks", "_scales")
VALUES: Final = 32  # of a block


def packed(numbers: Bytes, exponents: Bytes) -> Bytes:
    """(rows, blocks, 16) and (rows, blocks) -> (rows, blocks, 17), as GGUF has them."""
    first, second = np.split(numbers, 2, axis=-1)  # the bytes of numbers 0 to 15, and 16 to 31
    made = np.empty((*exponents.shape, 1 + VALUES // 2), np.uint8)
    made[..., 0] = exponents
    made[..., 1::2] = first & 15 | second << 4
    made[..., 2::2] = first >> 4 | second & 240
    return made
