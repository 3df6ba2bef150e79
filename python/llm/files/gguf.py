"""A GGUF file, mapped: its metadata, and its tensors by name in their block formats.

Layout (versions 2 and 3): magic, version, tensor count, metadata count, the metadata pairs, one
record a tensor, padding, tensor data. Everything that the file claims is checked against its own
size before it is used, so a damaged file costs an error and never more memory than its own size.
"""

import hashlib
import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.cursor import Cursor
from llm.files.formats import FORMATS
from llm.files.mapping import map_file
from llm.files.metadata import Metadata, read_metadata
from llm.files.model_file import ModelFile, TensorInfo
from llm.files.wording import quoted

VERSIONS: Final = (2, 3)
_DEFAULT_ALIGNMENT = 32
_MAX_DIMENSIONS = 4
_MAX_VALUES = 2**63 - 1
_SMALLEST_RECORD = 8 + 1 + 4 + 8 + 4 + 8  # a tensor with a name of one letter and one dimension
MAX_TENSORS = 1 << 16  # each becomes Python objects; the largest models have a few thousand


@dataclass(frozen=True, slots=True)
class PlacedTensor(TensorInfo):
    offset: int  # of its first byte in the file


class GgufFile(ModelFile):
    """One open file, perhaps a part of a split one."""

    def __init__(
        self,
        path: str,
        version: int,
        metadata: Metadata,
        tensors: dict[str, PlacedTensor],
        mapped: memoryview,
    ) -> None:
        """Use `open`."""
        self.path = path
        self.kind = f"GGUF version {version}"
        self.version = version
        self.metadata = metadata
        self.tensors: dict[str, PlacedTensor] = tensors  # in the order of the file's records
        self._mapped: memoryview | None = mapped

    @classmethod
    def open(cls, path: str) -> "GgufFile":
        """Maps and checks a file. ModelFileError, or UnsupportedModelError for unknown formats."""
        mapped = map_file(path)
        cursor = Cursor(path, mapped)
        cursor.take(4)  # the magic, which map_file has seen
        version = _read_version(cursor)
        cursor.field = "tensor count"
        tensor_count = cursor.u64()
        cursor.field = "metadata count"
        metadata = read_metadata(cursor, cursor.u64())
        tensors = _read_tensors(cursor, tensor_count, _alignment(metadata))
        return cls(path, version, metadata, tensors, mapped)

    def rows(self, name: str, start: int, count: int) -> np.ndarray:
        """As they lie in the file, not copied."""
        self.tensor(name)
        info = self.tensors[name]
        first = info.offset + start * info.row_bytes
        return np.frombuffer(self._mapping, np.uint8, count * info.row_bytes, first)

    @property
    def size(self) -> int:
        return len(self._mapping)

    def digest_without_data(self) -> str:
        """Of all that comes before the first tensor's data."""
        end = min((info.offset for info in self.tensors.values()), default=self.size)
        return hashlib.sha256(self._mapping[:end]).hexdigest()

    def close(self) -> None:
        self._mapped = None

    @property
    def _mapping(self) -> memoryview:
        if self._mapped is None:
            raise ValueError(f"{self.path} is closed")
        return self._mapped


def _read_version(cursor: Cursor) -> int:
    cursor.field = "version"
    version = cursor.u32()
    if version in VERSIONS:
        return version
    if version & 0xFFFF == 0 and version:
        raise cursor.error(
            f"is 0x{version:08x}: the file is big-endian, and this build reads little-endian ones"
        )
    raise cursor.error(f"is {version:,}, but this build reads versions 2 and 3")


def _alignment(metadata: Metadata) -> int:
    key = "general.alignment"
    alignment = metadata.int(key, _DEFAULT_ALIGNMENT, maximum=2**32 - 1)
    if alignment < 1 or alignment & (alignment - 1):
        raise ModelFileError(metadata.path, key, f"is {alignment:,}, but must be a power of two")
    return alignment


def _read_tensors(cursor: Cursor, count: int, alignment: int) -> dict[str, PlacedTensor]:
    cursor.field = "tensor count"
    cursor.check_count(count, _SMALLEST_RECORD, "tensors")
    if count > MAX_TENSORS:
        raise cursor.error(f"is {count:,}, but this build reads at most {MAX_TENSORS:,} tensors")
    records: dict[str, PlacedTensor] = {}
    for index in range(count):
        cursor.field = f"tensor name {index:,}"
        name = cursor.name()
        if name in records:
            raise cursor.error(f"{quoted(name)} is there twice")
        records[name] = _read_record(cursor, name, alignment)
    data_start = -(-cursor.position // alignment) * alignment
    return _placed(cursor, records, data_start)


def _read_record(cursor: Cursor, name: str, alignment: int) -> PlacedTensor:
    """One tensor; its offset still counts from the start of the tensor data."""
    what = f"tensor {quoted(name)}"
    cursor.field = f"{what} dimensions"
    rank = cursor.u32()
    if not 1 <= rank <= _MAX_DIMENSIONS:
        raise cursor.error(f"are {rank:,}, but must be 1 to {_MAX_DIMENSIONS}")
    dims = [cursor.u64() for _ in range(rank)]  # the file lists columns first
    shape = tuple(reversed(dims))
    if min(dims) < 1 or math.prod(dims) > _MAX_VALUES:
        raise cursor.error(f"are {shape}, but must hold 1 to {_MAX_VALUES:,} values")

    cursor.field = f"format of {what}"
    number = cursor.u32()
    if number not in FORMATS:
        known = (format.name for format in FORMATS.values())
        raise UnsupportedModelError(cursor.path, cursor.field, f"number {number:,}", known)
    format = FORMATS[number]
    if dims[0] % format.values:
        cursor.field = f"{what} dimensions"
        raise cursor.error(
            f"are {shape}, but {format.name} stores {format.values} values a block, "
            "so a row must be a multiple of it"
        )

    cursor.field = f"{what} offset"
    offset = cursor.u64()
    if offset % alignment:
        raise cursor.error(f"is {offset:,}, but must be a multiple of {alignment:,}")
    return PlacedTensor(name, shape, format, offset)


def _placed(
    cursor: Cursor, records: dict[str, PlacedTensor], data_start: int
) -> dict[str, PlacedTensor]:
    """The records with offsets from the start of the file, all inside it and none on another."""
    file_size = len(cursor.data)
    placed = {
        name: replace(info, offset=data_start + info.offset) for name, info in records.items()
    }
    end_of_last, last = 0, ""
    for info in sorted(placed.values(), key=lambda info: info.offset):
        cursor.field = f"tensor {quoted(info.name)} data"
        left = max(0, file_size - info.offset)
        if info.size > left:
            raise cursor.error(
                f"needs {info.size:,} bytes at {info.offset:,} but {left:,} remain; "
                "the file is cut short or damaged"
            )
        if info.offset < end_of_last:
            raise cursor.error(
                f"begins at {info.offset:,}, before the end of {quoted(last)} at {end_of_last:,}"
            )
        end_of_last, last = info.offset + info.size, info.name
    return placed
