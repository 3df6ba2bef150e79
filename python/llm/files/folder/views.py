"""The rows of a tensor as GGUF has it, made of what a folder stores.

What a converter would do is done while rows are read: stacking experts, ordering rows for rotation,
adding Gemma's one, multiplying 8-bit floats with their scales. Where nothing is to be done, rows
are views of the mapped file.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from llm.files.folder.float8 import VALUES, Scales
from llm.files.folder.safetensors import SIZES, Stored
from llm.files.formats import FORMATS_BY_NAME, BlockFormat
from llm.files.model_file import TensorInfo

Bytes = NDArray[np.uint8]

F32: Final = FORMATS_BY_NAME["f32"]
# What holds the values of a matrix; no kernel reads 8-bit floats.
_FORMATS: Final = {"F32": "f32", "F16": "f16", "BF16": "bf16", "F8_E4M3": "f16"}


@dataclass(frozen=True, slots=True)
class Part:
    """A stored tensor; `scales` belong to a matrix of 8-bit floats."""

    stored: Stored
    scales: Scales | None = None

    @property
    def rows(self) -> int:
        return int(np.prod(self.stored.shape[:-1]))


@dataclass(frozen=True, slots=True)
class View:
    """`parts` are of one shape and type, and stand one below the other."""

    info: TensorInfo
    parts: tuple[Part, ...]
    head_size: int = 0  # of heads whose halves become neighbours; 0 leaves rows in their order
    added: float = 0.0  # to every value

    def rows(self, start: int, count: int) -> Bytes:
        """See ModelFile.rows."""
        height = self.parts[0].rows
        pieces = []
        for number in range(start // height, -(-(start + count) // height)):
            first = max(start - number * height, 0)
            end = min(start + count - number * height, height)
            pieces.append(self._rows_of(self.parts[number], first, end))
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _rows_of(self, part: Part, first: int, end: int) -> Bytes:
        stored = part.stored
        lines = part.rows
        if len(stored.shape) == 1:  # a bias has a value for each row of its matrix
            first, end = 0, (lines := stored.shape[0])
        matrix = stored.data().reshape(lines, -1)  # (M, K * bytes of a value)
        if self.head_size:
            order = _halves_to_neighbours(np.arange(first, end), self.head_size)
            raw = matrix[order]
        else:
            order = np.arange(first, end)
            raw = matrix[first:end]
        if format_of(stored) == self.info.format and stored.dtype != "F8_E4M3" and not self.added:
            return raw.reshape(-1)
        values = _floats(raw, stored.dtype)  # (rows, K)
        if part.scales is not None:
            values = values * part.scales.of_rows(order, values.shape[1])
        if stored.dtype == "F8_E4M3" and np.isnan(values).any():
            raise stored.error("holds NaN")
        if self.added:
            values = values + np.float32(self.added)
        dtype = np.float32 if self.info.format == F32 else np.float16
        return np.ascontiguousarray(values, dtype).view(np.uint8).reshape(-1)


def format_of(stored: Stored) -> BlockFormat:
    """The format of what is made of it: vectors are f32. Raises ModelFileError."""
    if stored.dtype not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise stored.error(f"has the dtype {stored.dtype}; weights are {known}")
    return F32 if len(stored.shape) < 2 else FORMATS_BY_NAME[_FORMATS[stored.dtype]]


def _halves_to_neighbours(rows: NDArray[np.int64], head_size: int) -> NDArray[np.int64]:
    """Which stored row each is: folders rotate values i and i + D/2 of a head, GGUF's Llama 2i and
    2i + 1."""
    place = rows % head_size
    return rows - place + place % 2 * (head_size // 2) + place // 2


def _floats(raw: Bytes, dtype: str) -> NDArray[np.float32]:
    """(rows, bytes) -> (rows, K)."""
    flat = np.ascontiguousarray(raw)
    if dtype == "F8_E4M3":
        return VALUES[flat]
    if dtype == "BF16":
        return (flat.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return flat.view({4: np.float32, 2: np.float16}[SIZES[dtype]]).astype(np.float32, copy=False)
