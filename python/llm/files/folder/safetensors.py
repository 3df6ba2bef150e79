"""A safetensors file, mapped: tensors by name, their types and bytes.

Layout: the length of a JSON header in 8 bytes, the header, the tensors' data. As in GGUF files, all
that the header claims is checked against the file's own size. Source: github.com/huggingface/
safetensors, format.
"""

import hashlib
import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from llm.errors import ModelFileError
from llm.files.cursor import Cursor
from llm.files.folder.json_file import parse_json
from llm.files.gguf import MAX_TENSORS
from llm.files.mapping import map_any
from llm.files.wording import quoted

MAX_HEADER_BYTES: Final = 1 << 24  # 100,000 tensors; Python objects take some times as much
_MAX_DIMENSIONS = 8
_MAX_VALUES = 2**63 - 1

# Bytes of a value. Other types exist, but no weights of them.
SIZES: Final = {
    "F64": 8,
    "F32": 4,
    "F16": 2,
    "BF16": 2,
    "F8_E4M3": 1,
    "F8_E5M2": 1,
    "F8_E8M0": 1,
    "I64": 8,
    "I32": 4,
    "I16": 2,
    "I8": 1,
    "U64": 8,
    "U32": 4,
    "U16": 2,
    "U8": 1,
    "BOOL": 1,
}


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor of a file."""

    file: "SafetensorsFile"
    name: str
    dtype: str  # a key of SIZES
    shape: tuple[int, ...]
    offset: int  # of its first byte in the file

    @property
    def size(self) -> int:
        """Bytes."""
        return math.prod(self.shape) * SIZES[self.dtype]

    def data(self) -> np.ndarray:
        """Its bytes as they lie in the file: uint8, read-only, not copied."""
        return np.frombuffer(self.file.mapping, np.uint8, self.size, self.offset)

    def error(self, problem: str) -> ModelFileError:
        return ModelFileError(self.file.path, f"tensor {quoted(self.name)}", problem)


class SafetensorsFile:
    """An open file."""

    def __init__(self, path: str) -> None:
        """Maps and checks it. Raises ModelFileError."""
        self.path = path
        self._mapped: memoryview | None = map_any(path)
        cursor = Cursor(path, self._mapped)
        cursor.field = "header length"
        length = cursor.u64()
        if length > MAX_HEADER_BYTES:
            raise cursor.error(f"is {length:,}, but may be {MAX_HEADER_BYTES:,} at most")
        cursor.field = "header"
        start = cursor.take(length)
        self._header = bytes(cursor.data[start : start + length])
        entries = parse_json(self._header, path, "header")
        entries.pop("__metadata__", None)
        if len(entries) > MAX_TENSORS:
            problem = f"has {len(entries):,} tensors, but this build reads {MAX_TENSORS:,} at most"
            raise cursor.error(problem)
        self.tensors = {name: _stored(self, name, entry, cursor) for name, entry in entries.items()}
        _check_apart(self.tensors, cursor)

    @property
    def mapping(self) -> memoryview:
        if self._mapped is None:
            raise ValueError(f"{self.path} is closed")
        return self._mapped

    @property
    def size(self) -> int:
        """Of the file, in bytes."""
        return len(self.mapping)

    def header_digest(self) -> bytes:
        return hashlib.sha256(self._header).digest()

    def close(self) -> None:
        self._mapped = None


def _stored(file: SafetensorsFile, name: str, entry: Any, cursor: Cursor) -> Stored:
    """A checked entry of the header; the cursor stands where the data begin."""
    problem = _problem(entry, cursor.remaining)
    if problem:
        cursor.field = f"tensor {quoted(name)}"
        raise cursor.error(problem)
    begin = entry["data_offsets"][0]
    return Stored(file, name, entry["dtype"], tuple(entry["shape"]), cursor.position + begin)


def _problem(entry: Any, data_size: int) -> str:
    """What is wrong with an entry of the header, if anything."""
    if not isinstance(entry, dict) or not entry.keys() >= {"dtype", "shape", "data_offsets"}:
        return "is not described by dtype, shape and data_offsets"
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in SIZES:
        return f"has the dtype {quoted(str(dtype))}, which is none of {', '.join(SIZES)}"
    if not _are_sizes(shape) or len(shape) > _MAX_DIMENSIONS:
        return f"has a shape that is not up to {_MAX_DIMENSIONS} whole numbers"
    count = math.prod(shape)
    if count > _MAX_VALUES:
        return f"has a shape of more than {_MAX_VALUES:,} values"
    if not _are_sizes(offsets) or len(offsets) != 2:
        return "has data_offsets that are not two whole numbers"
    size, end = offsets[1] - offsets[0], offsets[1]
    if size != count * SIZES[dtype]:
        return f"has {size:,} bytes by its offsets, but needs {count * SIZES[dtype]:,}"
    if end > data_size:
        where = f"ends at byte {end:,} of the data, of which the file has {data_size:,}"
        return f"{where}; it is cut short or damaged"
    return ""


def _are_sizes(value: Any) -> bool:
    if not isinstance(value, list) or not set(map(type, value)) <= {int}:
        return False
    return min(value, default=0) >= 0 and max(value, default=0) <= _MAX_VALUES


def _check_apart(tensors: dict[str, Stored], cursor: Cursor) -> None:
    end_of_last, last = 0, ""
    for tensor in sorted(tensors.values(), key=lambda tensor: tensor.offset):
        if tensor.offset < end_of_last:
            cursor.field = f"tensor {quoted(tensor.name)}"
            raise cursor.error(f"begins before the end of {quoted(last)}")
        if tensor.size:
            end_of_last, last = tensor.offset + tensor.size, tensor.name
