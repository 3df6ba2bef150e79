"""The rows of a tensor as GGUF has it, made from a folder's when they are read. Where nothing is to
be done, rows are views of the mapped file.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from llm.files.folder import mxfp4
from llm.files.folder.changes import Change, Numbers
from llm.files.folder.float8 import VALUES, Scales
from llm.files.folder.safetensors import SIZES, Stored
from llm.files.formats import FORMATS_BY_NAME, BlockFormat
from llm.files.model_file import TensorInfo

Bytes = NDArray[np.uint8]

F32: Final = FORMATS_BY_NAME["f32"]
MXFP4: Final = FORMATS_BY_NAME["mxfp4"]
# What holds the values of a matrix; no kernel reads 8-bit floats.
_FORMATS: Final = {"F32": "f32", "F16": "f16", "BF16": "bf16", "F8_E4M3": "f16"}
_ELEMENTS: Final = {1: np.uint8, 2: np.uint16, 4: np.uint32}


@dataclass(frozen=True, slots=True)
class Part:
    """A stored tensor; `scales` belong to a matrix of 8-bit floats, `exponents` to blocks."""

    stored: Stored
    scales: Scales | None = None
    exponents: Stored | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """In values."""
        if self.exponents is None:
            return self.stored.shape
        return (*self.stored.shape[:-2], self.stored.shape[-2] * mxfp4.VALUES)


@dataclass(frozen=True, slots=True)
class View:
    """`parts` are of one shape and type, and stand one below the other; changes are of a tensor
    that is stored as one."""

    info: TensorInfo
    parts: tuple[Part, ...]
    change: Change
    stored_shape: tuple[int, ...]  # rows, and values of one; vectors and biases have rows of one

    @classmethod
    def make(cls, name: str, parts: tuple[Part, ...], change: Change, *, is_stack: bool) -> "View":
        """Raises ModelFileError where the change is none for such a tensor."""
        stored = parts[0].stored
        shape = parts[0].shape
        if parts[0].exponents is not None:
            change = replace(change, is_transposed=False)
        by_value = len(shape) < 2 or name.endswith(".bias")
        if by_value:
            shape = (*shape, 1)
        if is_stack and (change.rows is not None or change.is_transposed):
            raise stored.error("is of one expert, where folders of the family hold all in one")
        if change.is_transposed:
            shape = (*shape[:-2], shape[-1], shape[-2])
        try:
            rows = _rows_in_order(change, shape).shape if change.rows else shape[:-1]
            if change.columns is not None:
                change.columns(np.arange(shape[-1]))
        except ValueError as error:
            raise stored.error(str(error)) from None
        if is_stack:
            rows = (len(parts), *rows)
        rows = (max(rows[0], change.height), *rows[1:])
        whole = rows if by_value else (*rows, shape[-1])
        is_float32 = change.is_float32 or by_value
        info = TensorInfo(name, whole, F32 if is_float32 else _format_of(parts[0]))
        return cls(info, parts, change, shape)

    def rows(self, start: int, count: int) -> Bytes:
        """See ModelFile.rows."""
        width = self.info.shape[-1] if self.stored_shape[-1] == 1 else 1
        first, end = start * width, (start + count) * width
        if self.change.rows is not None or self.change.is_transposed:
            order = _rows_in_order(self.change, self.stored_shape).reshape(-1)
            return self._made(self.parts[0], order[first:end])
        height = int(np.prod(self.stored_shape[:-1]))
        made = [
            self._made(
                self.parts[number],
                slice(max(first - number * height, 0), min(end - number * height, height)),
            )
            for number in range(first // height, min(-(-end // height), len(self.parts)))
        ]
        missing = end - max(first, height * len(self.parts))
        if missing > 0:
            made.append(np.zeros(missing * self.info.row_bytes, np.uint8))
        return made[0] if len(made) == 1 else np.concatenate(made)

    def _made(self, part: Part, rows: Numbers | slice) -> Bytes:
        """Rows of a part, by their numbers there."""
        stored, change = part.stored, self.change
        raw = self._raw(stored, rows)  # (rows, K) elements, or bytes of blocks
        if part.exponents is not None:
            exponents = part.exponents.data().reshape(-1, part.exponents.shape[-1])[rows]
            pairs = raw.view(np.uint8).reshape(*exponents.shape, -1)  # (rows, blocks, 16)
            return mxfp4.packed(pairs, exponents).reshape(-1)
        width = raw.shape[1]
        columns = slice(None) if change.columns is None else change.columns(np.arange(width))
        is_as_stored = _FORMATS[stored.dtype] == self.info.format.name and part.scales is None
        if is_as_stored and change.values is None:
            return np.ascontiguousarray(raw[:, columns]).view(np.uint8).reshape(-1)
        values = _floats(raw, stored.dtype)  # (rows, K)
        if part.scales is not None:
            numbers = np.arange(self.stored_shape[0])[rows]
            values = values * part.scales.of_rows(numbers, width)
        if stored.dtype == "F8_E4M3" and np.isnan(values).any():
            raise stored.error("holds NaN")
        values = values[:, columns]
        if change.values is not None:
            values = change.values(values)
        dtype = np.float32 if self.info.format == F32 else np.float16
        return np.ascontiguousarray(values, dtype).view(np.uint8).reshape(-1)

    def _raw(self, stored: Stored, rows: Numbers | slice) -> NDArray[np.generic]:
        elements = stored.data().view(_ELEMENTS[SIZES[stored.dtype]])
        if not self.change.is_transposed:
            return elements.reshape(int(np.prod(self.stored_shape[:-1])), -1)[rows]
        height, width = self.stored_shape[-2:]
        matrices, columns = np.divmod(np.arange(elements.size // width)[rows], height)
        return elements.reshape(-1, width, height)[matrices, :, columns]  # (rows, K)


def _rows_in_order(change: Change, shape: tuple[int, ...]) -> Numbers:
    rows = np.arange(int(np.prod(shape[:-1]))).reshape(shape[:-1])
    return rows if change.rows is None else change.rows(rows)


def _format_of(part: Part) -> BlockFormat:
    return FORMATS_BY_NAME[_FORMATS[part.stored.dtype]] if part.exponents is None else MXFP4


def check_dtype(stored: Stored) -> None:
    """ModelFileError where no weights are held so."""
    if stored.dtype not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise stored.error(f"has the dtype {stored.dtype}; weights are {known}")


def _floats(raw: NDArray[np.generic], dtype: str) -> NDArray[np.float32]:
    """(rows, K) elements -> (rows, K)."""
    flat = np.ascontiguousarray(raw)
    if dtype == "F8_E4M3":
        return VALUES[flat]
    if dtype == "BF16":
        return (flat.astype(np.uint32) << 16).view(np.float32)
    if dtype == "F16":
        return flat.view(np.float16).astype(np.float32)
    return flat.view(np.float32)
