"""What is done to a tensor on its way from a folder's form to GGUF's.

Where rows change places, this is said by what happens to their numbers: a function gets the numbers
of the stored rows, in the shape in which they are stored, and gives them as GGUF has them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]
Order = Callable[[Numbers], Numbers]  # ValueError where the tensor cannot be so


@dataclass(frozen=True, slots=True)
class Change:
    rows: Order | None = None  # of vectors and biases: the order of values
    columns: Order | None = None
    values: Callable[[Floats], Floats] | None = None
    is_transposed: bool = False  # stored with its columns as rows, unless in blocks
    is_float32: bool = False  # whatever it is stored as
    height: int = 0  # rows of zeros follow, up to so many


def add_one(values: Floats) -> Floats:
    """Gemma's norms multiply by 1 + what is stored."""
    return values + np.float32(1.0)


def negative_exponential(values: Floats) -> Floats:
    """Folders hold the logarithm of a decay."""
    return -np.exp(values)


def halves_to_neighbours(head_size: int) -> Order:
    """Folders rotate values i and i + D/2 of a head, GGUF's Llama 2i and 2i + 1."""

    def order(rows: Numbers) -> Numbers:
        count = len(rows)
        if not head_size or head_size % 2 or count % head_size:
            heads = f"heads of {head_size:,}, an even number"
            raise ValueError(f"has {count:,} rows, which are not {heads}")
        return rows.reshape(-1, 2, head_size // 2).swapaxes(1, 2).reshape(-1)

    return order


def every_second(first: int) -> Order:
    """Of two matrices whose rows take turns."""
    return lambda rows: rows[..., first::2]


def half(number: int) -> Order:
    """Of two matrices one below the other."""

    def order(rows: Numbers) -> Numbers:
        if rows.shape[-1] % 2:
            raise ValueError(f"has {rows.shape[-1]:,} rows, which are not two matrices")
        return np.split(rows, 2, axis=-1)[number]

    return order


def one_channel(rows: Numbers) -> Numbers:
    """A convolution of each channel by itself is stored as (C, 1, K)."""
    if rows.ndim != 2 or rows.shape[1] != 1:
        raise ValueError("is no convolution of each channel by itself")
    return rows[:, 0]


AS_FLOAT32: Final = Change(is_float32=True)
PLUS_ONE: Final = Change(values=add_one)
TAPS: Final = Change(rows=one_channel, is_float32=True)
