"""Packed arrays: engine memory that Python reads and writes in place.

The engine copies such an array when it is written while somebody else holds it too (copy on write),
so `view()` first makes this object the only holder. A view must not be used after the array's size
changes.
"""

from __future__ import annotations

from operator import index

from .interface import ffi, lib
from .variant import (
    PACKED_BYTE_ARRAY,
    PACKED_FLOAT32_ARRAY,
    PACKED_INT32_ARRAY,
    PACKED_STRING_ARRAY,
    READERS,
    TYPED_WRITERS,
    Opaque,
    add_writer,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class _Packed(Opaque):
    """One of the packed arrays of numbers."""

    __slots__ = ("_length",)

    name = ""
    format: Any = "B"  # as in the struct module
    item_size = 1
    pointer_to_write: Any = None
    pointer_to_read: Any = None

    def __init__(self, source: Any = 0) -> None:
        """`source` is a number of elements, all zero, or bytes-like, or an iterable of numbers."""
        super().__init__()
        try:
            length = index(source)
        except TypeError:
            self._fill(source)
            return
        self._resize(length)
        if length:
            lib.memory_clear(self._start(), length * self.item_size)

    def _fill(self, source: Any) -> None:
        data = self._as_bytes(source)
        if data is None:
            items = ffi.new(f"{self._c_type}[]", list(source))
            data = memoryview(ffi.buffer(items))
        if data.nbytes % self.item_size:
            raise ValueError(f"{data.nbytes} bytes do not divide into elements of {self.item_size}")
        self._resize(data.nbytes // self.item_size)
        if data.nbytes:
            lib.memory_copy(self._start(), ffi.from_buffer(data), data.nbytes)

    @classmethod
    def of(cls, given: Any) -> Any:
        """`given` as such an array; raises TypeError where it is none, nor can be made one."""
        if isinstance(given, cls):
            return given
        try:
            iter(given)
            return cls(given)
        except TypeError as error:
            found = type(given).__name__
            raise TypeError(f"expected {cls.name}, found {found} ({error})") from None

    def _as_bytes(self, source: Any) -> Any:
        """The memory of `source` where it holds bytes or elements of this kind, else None."""
        try:
            data = memoryview(source)
        except TypeError:
            return None
        if self.format != "B" and data.format not in (self.format, "B", "b", "c"):
            return None
        return data.cast("B") if data.c_contiguous else memoryview(data.tobytes())

    @classmethod
    def adopt(cls, value: Any) -> Any:
        self = super().adopt(value)
        self._length = lib.container_size(self.kind, self.memory)
        return self

    @property
    def _c_type(self) -> str:
        return {"B": "uint8_t", "i": "int32_t", "f": "float"}[self.format]

    def _resize(self, length: int) -> None:
        if length:
            lib.container_resize(self.kind, self.memory, length)
        self._length = length

    def _start(self) -> Any:
        return type(self).pointer_to_write(self.memory, 0)

    def view(self) -> memoryview:
        """The array's own memory, writable: element type B, i or f."""
        if not self._length:
            return memoryview(bytearray()).cast(self.format)
        # The view keeps the array alive through the closure of its pointer's release.
        owner = [self]
        start = ffi.gc(self._start(), lambda _: owner.clear())
        return (
            memoryview(ffi.buffer(start, self._length * self.item_size)).cast("B").cast(self.format)
        )

    def __buffer__(self, flags: int) -> memoryview:
        """For memoryview(array), which looks here from Python 3.12 on; before it, use view()."""
        return self.view()

    def tobytes(self) -> bytes:
        """A copy of the bytes; does not end sharing with the engine."""
        if not self._length:
            return b""
        start = type(self).pointer_to_read(self.memory, 0)
        return bytes(ffi.buffer(start, self._length * self.item_size))

    def tolist(self) -> list[Any]:
        return memoryview(self.tobytes()).cast(self.format).tolist()

    __bytes__ = tobytes

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, position: Any) -> Any:
        return self.tolist()[position]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _Packed):
            return type(other) is type(self) and self.tobytes() == other.tobytes()
        if isinstance(other, list):
            return self.tolist() == other
        if isinstance(other, (bytes, bytearray, memoryview)):
            return self.tobytes() == other
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"{self.name}({self.tolist()!r})"
            if self._length <= 16
            else f"<{self.name} of {self._length}>"
        )


class PackedByteArray(_Packed):
    """Bytes in engine memory. Where the engine wants one, bytes-like objects do as well."""

    __slots__ = ()
    kind = PACKED_BYTE_ARRAY
    name = "PackedByteArray"
    pointer_to_write = lib.packed_byte_array_operator_index
    pointer_to_read = lib.packed_byte_array_operator_index_const


class PackedInt32Array(_Packed):
    __slots__ = ()
    kind = PACKED_INT32_ARRAY
    name = "PackedInt32Array"
    format = "i"
    item_size = 4
    pointer_to_write = lib.packed_int32_array_operator_index
    pointer_to_read = lib.packed_int32_array_operator_index_const


class PackedFloat32Array(_Packed):
    __slots__ = ()
    kind = PACKED_FLOAT32_ARRAY
    name = "PackedFloat32Array"
    format = "f"
    item_size = 4
    pointer_to_write = lib.packed_float32_array_operator_index
    pointer_to_read = lib.packed_float32_array_operator_index_const


class PackedStringArray(list):  # type: ignore[type-arg]
    """A list of str that the engine sees as its own packed kind; a copy, unlike the numbers."""

    __slots__ = ()


class _Strings(Opaque):
    __slots__ = ()
    kind = PACKED_STRING_ARRAY


def _read_strings(value: Any) -> PackedStringArray:
    strings = _Strings.adopt(value)
    count = lib.container_size(PACKED_STRING_ARRAY, strings.memory)
    texts = PackedStringArray()
    if count:
        values = ffi.new("Value[]", count)
        lib.packed_strings_read(strings.memory, count, values)
        texts.extend(
            str(ffi.buffer(values[i].text, values[i].length)[:], "utf-8", "replace")
            for i in range(count)
        )
        lib.values_free(values, count)
    return texts


def _write_strings(value: Any, given: Any, keep: list[Any]) -> None:
    strings = _Strings()
    items = list(given)
    values = ffi.new("Value[]", max(len(items), 1))
    for i, item in enumerate(items):
        TYPED_WRITERS["String"](values[i], item, keep)
    lib.packed_strings_fill(strings.memory, values, len(items))
    strings.lend(value, keep)


def _add_numbers(cls: type[_Packed]) -> None:
    def write(value: Any, given: Any, keep: list[Any]) -> None:
        cls.of(given).lend(value, keep)

    READERS[cls.kind] = cls.adopt
    TYPED_WRITERS[cls.name] = write
    add_writer(cls, write)
    if cls is PackedByteArray:
        for python_type in (bytes, bytearray, memoryview):
            add_writer(python_type, write)


for _cls in (PackedByteArray, PackedInt32Array, PackedFloat32Array):
    _add_numbers(_cls)
READERS[PACKED_STRING_ARRAY] = _read_strings
TYPED_WRITERS["PackedStringArray"] = _write_strings
add_writer(PackedStringArray, _write_strings)
