"""8-bit floats (E4M3) and what multiplies them.

A value is sign, 4 bits of exponent with bias 7, 3 of fraction; there is no infinity, and 0x7F is
NaN. Source: Micikevicius et al. 2022, FP8 formats for deep learning. Folders store a float of
scale for a whole tensor, for each row, or for each block of 128 x 128 values, named
`weight_scale` or, though it multiplies too, `weight_scale_inv`.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from llm.files.folder.safetensors import Stored

Floats = NDArray[np.float32]

SCALE_SUFFIXES: Final = ("_scale_inv", "_scale")
LARGEST: Final = 448.0
_LARGEST_HALF = 65504.0
_BLOCK = (128, 128)


def _table() -> Floats:
    code = np.arange(256)
    exponent, fraction = code >> 3 & 15, code & 7
    size = np.where(
        exponent == 0, fraction * 2.0**-9, (8 + fraction) * np.exp2(exponent - 10.0)
    )  # (256,)
    size[(code & 127) == 127] = np.nan
    return np.where(code < 128, size, -size).astype(np.float32)


VALUES: Final = _table()  # (256,)


@dataclass(frozen=True, slots=True)
class Scales:
    """One float for each block of rows x columns of a matrix."""

    values: Floats  # (blocks down, blocks across)
    rows: int  # of the matrix that a block has
    columns: int

    @classmethod
    def read(cls, stored: Stored, shape: tuple[int, ...], block: tuple[int, int]) -> "Scales":
        """The scales of a matrix; `block` is the folder's block size. Raises ModelFileError."""
        height, width = shape
        down, across = -(-height // block[0]), -(-width // block[1])
        count = int(np.prod(stored.shape))
        if stored.shape == (down, across):
            rows, columns = block
        elif count == 1:
            (down, across), (rows, columns) = (1, 1), (height, width)
        elif stored.shape in ((height,), (height, 1)):
            (down, across), (rows, columns) = (height, 1), (1, width)
        else:
            raise stored.error(
                f"has the shape {stored.shape}; scales of a matrix {shape} are 1, {height:,}, or "
                f"({down:,}, {across:,}) for blocks of {block[0]:,} x {block[1]:,}"
            )
        values = _floats(stored).reshape(down, across)
        if not np.isfinite(values).all():
            raise stored.error("is not all finite")
        most = float(np.abs(values).max(initial=0.0))
        if most * LARGEST > _LARGEST_HALF:
            raise stored.error(f"reaches {most:g}; weights are held in f16, which ends at 65,504")
        return cls(values, rows, columns)

    def of_rows(self, rows: NDArray[np.int64], width: int) -> Floats:
        """For some rows of the matrix: a scale for each value, or one for all, (n, width or 1)."""
        found = self.values[rows // self.rows]  # (n, blocks across)
        if found.shape[1] == 1:
            return found
        return np.repeat(found, self.columns, axis=1)[:, :width]


def _floats(stored: Stored) -> Floats:
    """The values of a stored tensor of scales, (count,)."""
    data = stored.data()
    if stored.dtype == "F32":
        return data.view(np.float32)
    if stored.dtype == "F16":
        return data.view(np.float16).astype(np.float32)
    if stored.dtype == "BF16":
        return (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if stored.dtype == "F8_E8M0":  # powers of two with bias 127; 255 is NaN
        powers = np.exp2(data.astype(np.float32) - 127.0)
        return np.where(data == 255, np.float32(np.nan), powers)
    raise stored.error(f"has the dtype {stored.dtype}; scales are F32, F16, BF16 or F8_E8M0")
