"""Builds the bytes of a GGUF file for tests, field by field, without the parser that it tests.

It writes what it is told, sound or not, and remembers where each field lies (`marks`), so that a
test can damage exactly one of them.
"""

import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np

# Type numbers of metadata values, from the GGUF specification.
U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
LAYOUTS = dict(zip(range(13), "BbHhIifB  Qqd", strict=True))
_KINDS = {"u1": U8, "i1": I8, "u2": U16, "i2": I16, "u4": U32, "i4": I32, "f4": F32, "b1": BOOL}
_KINDS |= {"u8": U64, "i8": I64, "f8": F64}
_MARKED = 8  # items of an array that get marks; a vocabulary has too many


class GgufBuilder:
    def __init__(self, version: int = 3, alignment: int = 32) -> None:
        self.version = version
        self.alignment = alignment
        self.marks: dict[str, int] = {}  # field -> where it begins; complete after build()
        self._pairs: list[tuple[str, int, Any]] = []
        self.size = 0  # of the whole file, holes included; set by build()
        self._tensors: list[tuple[str, tuple[int, ...], int, bytes | int]] = []
        if alignment != 32:
            self.add("general.alignment", alignment)

    def add(self, key: str, value: Any, kind: int | None = None) -> "GgufBuilder":
        """A pair; without `kind`, int is u32 (or i64), float f32, lists and arrays by content."""
        self._pairs.append((key, _kind_of(value) if kind is None else kind, value))
        return self

    def tensor(
        self, name: str, shape: tuple[int, ...], format: str | int, data: bytes | np.ndarray | int
    ) -> "GgufBuilder":
        """A tensor of numpy shape (rows, columns), whose bytes are given as the file stores them.

        float32 arrays are quantised by the gguf package (it can f16, q4_0 to q8_0, not k-quants).
        An int is a hole: so many zero bytes, which take no place on disk where nothing follows.
        """
        if isinstance(format, str):
            format = int(gguf.GGMLQuantizationType[format.upper()])
        if isinstance(data, np.ndarray):
            if data.dtype == np.float32 and format != 0:
                data = gguf.quants.quantize(data, gguf.GGMLQuantizationType(format))
            data = data.tobytes()
        self._tensors.append((name, shape, format, data))
        return self

    def build(self) -> bytes:
        """The file up to its last byte that is no hole."""
        out = bytearray(b"GGUF")
        self._mark(out, "version", struct.pack("<I", self.version))
        self._mark(out, "tensor count", struct.pack("<Q", len(self._tensors)))
        self._mark(out, "metadata count", struct.pack("<Q", len(self._pairs)))
        for key, kind, value in self._pairs:
            self._string(out, f"{key} key", key.encode())
            self._mark(out, f"{key} type", struct.pack("<I", kind))
            self._value(out, key, kind, value)
        offset = 0
        for name, shape, format, data in self._tensors:
            self._string(out, f"{name} name", name.encode())
            self._mark(out, f"{name} rank", struct.pack("<I", len(shape)))
            for axis, size in enumerate(reversed(shape)):
                self._mark(out, f"{name} dimension {axis}", struct.pack("<Q", size))
            self._mark(out, f"{name} format", struct.pack("<I", format))
            self._mark(out, f"{name} offset", struct.pack("<Q", offset))
            offset += self._padded(_length(data))
        self.size = self.marks["header end"] = len(out)
        for name, _, _, data in self._tensors:
            self.marks[f"{name} data"] = start = self._padded(self.size)
            self.size = start + _length(data)
            if not isinstance(data, int):
                out += bytes(start - len(out)) + data
        return bytes(out)

    def write(self, path: Path) -> str:
        with path.open("wb") as file:
            file.write(self.build())
            file.truncate(self.size)
        return str(path)

    def patched(self, mark: str, layout: str, *values: Any) -> bytes:
        """The file with other values written over the field at `mark`, as `struct` packs them."""
        out = bytearray(self.build())
        struct.pack_into("<" + layout, out, self.marks[mark], *values)
        return bytes(out)

    def _padded(self, size: int) -> int:
        return size + -size % self.alignment

    def _mark(self, out: bytearray, name: str, field: bytes) -> None:
        self.marks[name] = len(out)
        out += field

    def _string(self, out: bytearray, name: str, text: bytes) -> None:
        self._mark(out, f"{name} length", struct.pack("<Q", len(text)))
        self._mark(out, name, text)

    def _value(self, out: bytearray, key: str, kind: int, value: Any) -> None:
        if kind == STRING:
            self._string(out, key, _encoded(value))
        elif kind == ARRAY:
            item = _kind_of(value[0]) if isinstance(value, list) else _KINDS[value.dtype.str[1:]]
            self._mark(out, f"{key} item type", struct.pack("<I", item))
            self._mark(out, f"{key} count", struct.pack("<Q", len(value)))
            if isinstance(value, np.ndarray):
                self._mark(out, key, value.tobytes())
            for index, inner in enumerate(value if isinstance(value, list) else ()):
                if index < _MARKED or item == ARRAY:
                    self._value(out, f"{key} {index}", item, inner)
                else:
                    out += _packed(item, inner)
        else:
            self._mark(out, key, _packed(kind, value))


def _packed(kind: int, value: Any) -> bytes:
    if kind == STRING:
        return struct.pack("<Q", len(_encoded(value))) + _encoded(value)
    return struct.pack("<" + LAYOUTS[kind], value)


def _encoded(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def _length(data: bytes | int) -> int:
    return data if isinstance(data, int) else len(data)


def _kind_of(value: Any) -> int:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return U32 if 0 <= value < 2**32 else I64
    if isinstance(value, float):
        return F32
    return STRING if isinstance(value, (str, bytes)) else ARRAY
