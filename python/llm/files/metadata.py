"""The key-value part of a GGUF file: what each value may be, and getters that check its type.

Numbers and bools come as Python's own, strings as str, arrays of numbers as read-only numpy views
into the file (which may be unaligned), arrays of strings as bytes, because a token need not be
valid UTF-8.
"""

import builtins
import math
import struct
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, overload

import numpy as np

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.cursor import Cursor, StringArray
from llm.files.wording import quoted

Default = TypeVar("Default")
_REQUIRED: Any = object()

# What a value's type number means: the layout of one scalar. 7 is bool, 8 string, 9 array.
_LETTERS = (*enumerate("BbHhIifB"), *enumerate("Qqd", start=10))
_LAYOUTS = {number: struct.Struct("<" + letter) for number, letter in _LETTERS}
_BOOL, _STRING, _ARRAY = 7, 8, 9

_SMALLEST_PAIR = 8 + 1 + 4 + 1  # a key of one letter, and one byte of value
MAX_PAIRS = 1 << 16  # each becomes Python objects; real files have under a hundred


class Metadata(Mapping[str, Any]):
    """The values of a model file by key. The getters raise ModelFileError, naming file and key."""

    def __init__(self, values: Mapping[builtins.str, Any], path: builtins.str = "") -> None:
        self.path = path
        self._values = values

    def __getitem__(self, key: builtins.str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[builtins.str]:
        return iter(self._values)

    def __len__(self) -> builtins.int:
        return len(self._values)

    @overload
    def int(
        self, key: builtins.str, *, minimum: builtins.int = ..., maximum: builtins.int = ...
    ) -> builtins.int: ...
    @overload
    def int(
        self,
        key: builtins.str,
        default: Default,
        *,
        minimum: builtins.int = ...,
        maximum: builtins.int = ...,
    ) -> builtins.int | Default: ...
    def int(
        self,
        key: builtins.str,
        default: Any = _REQUIRED,
        *,
        minimum: builtins.int = 0,
        maximum: builtins.int = 2**31 - 1,
    ) -> Any:
        """A whole number within bounds; those of a model's sizes unless others are given."""
        if key not in self._values:
            return self._or_default(key, default)
        value = self._checked(key, (builtins.int,), "a whole number")
        if not minimum <= value <= maximum:
            raise ModelFileError(
                self.path, key, f"is {value:,}, but must be {minimum:,} to {maximum:,}"
            )
        return value

    @overload
    def float(self, key: builtins.str) -> builtins.float: ...
    @overload
    def float(self, key: builtins.str, default: Default) -> builtins.float | Default: ...
    def float(self, key: builtins.str, default: Any = _REQUIRED) -> Any:
        """A finite number, also one that the file holds as a whole number."""
        if key not in self._values:
            return self._or_default(key, default)
        value = self._checked(key, (builtins.int, builtins.float), "a number")
        if not math.isfinite(value):
            raise ModelFileError(self.path, key, f"is {value}, but must be finite")
        return builtins.float(value)

    @overload
    def bool(self, key: builtins.str) -> builtins.bool: ...
    @overload
    def bool(self, key: builtins.str, default: Default) -> builtins.bool | Default: ...
    def bool(self, key: builtins.str, default: Any = _REQUIRED) -> Any:
        if key not in self._values:
            return self._or_default(key, default)
        return self._checked(key, (builtins.bool,), "true or false")

    @overload
    def str(self, key: builtins.str) -> builtins.str: ...
    @overload
    def str(self, key: builtins.str, default: Default) -> builtins.str | Default: ...
    def str(self, key: builtins.str, default: Any = _REQUIRED) -> Any:
        if key not in self._values:
            return self._or_default(key, default)
        return self._checked(key, (builtins.str,), "text")

    @overload
    def strings(self, key: builtins.str) -> list[bytes]: ...
    @overload
    def strings(self, key: builtins.str, default: Default) -> list[bytes] | Default: ...
    def strings(self, key: builtins.str, default: Any = _REQUIRED) -> Any:
        """An array of strings, as a new list."""
        if key not in self._values:
            return self._or_default(key, default)
        return list(self._checked(key, (StringArray, list), "an array of strings"))

    @overload
    def numbers(self, key: builtins.str) -> np.ndarray: ...
    @overload
    def numbers(self, key: builtins.str, default: Default) -> np.ndarray | Default: ...
    def numbers(self, key: builtins.str, default: Any = _REQUIRED) -> Any:
        """An array of numbers or bools, one-dimensional, in the type that the file stores."""
        if key not in self._values:
            return self._or_default(key, default)
        return self._checked(key, (np.ndarray,), "an array of numbers")

    def array(self, key: builtins.str, default: Any = _REQUIRED) -> Any:
        """An array of either kind: what `strings` or `numbers` would give."""
        if isinstance(self._values.get(key), (StringArray, list)):
            return self.strings(key)
        return self.numbers(key, default)

    def _or_default(self, key: builtins.str, default: Any) -> Any:
        if default is _REQUIRED:
            raise ModelFileError(self.path, key, "is missing from the metadata")
        return default

    def _checked(self, key: builtins.str, kinds: tuple[type, ...], expected: builtins.str) -> Any:
        value = self._values[key]
        # Python counts a bool as an int; a file does not.
        if type(value) is builtins.bool and builtins.bool not in kinds:
            kinds = ()
        if not isinstance(value, kinds):
            found = describe(value)
            raise ModelFileError(self.path, key, f"expected {expected}, found {found}")
        return value


def describe(value: Any) -> str:
    """A value in a few words, whatever its length."""
    if isinstance(value, str):
        return f"the text {quoted(value)}"
    if isinstance(value, np.ndarray):
        return f"an array of {len(value):,} numbers ({value.dtype.name})"
    if isinstance(value, StringArray):
        return f"an array of {len(value):,} strings"
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    if isinstance(value, dict):
        return f"an object of {len(value):,} keys"
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_metadata(cursor: Cursor, count: int) -> Metadata:
    """Reads `count` key-value pairs; the cursor then stands behind the last."""
    cursor.field = "metadata count"
    cursor.check_count(count, _SMALLEST_PAIR, "keys")
    if count > MAX_PAIRS:
        raise cursor.error(f"is {count:,}, but this build reads at most {MAX_PAIRS:,} keys")
    values: dict[str, Any] = {}
    for index in range(count):
        cursor.field = f"metadata key {index:,}"
        key = cursor.name()
        if key in values:
            raise cursor.error(f"{quoted(key)} is there twice")
        cursor.field = f"metadata {quoted(key)}"
        values[key] = _read_value(cursor)
    return Metadata(values, cursor.path)


def _read_value(cursor: Cursor) -> Any:
    kind = cursor.u32()
    if kind == _ARRAY:
        return _read_array(cursor)
    if kind == _STRING:
        return cursor.string()
    if kind not in _LAYOUTS:
        raise cursor.error(f"has value type {kind:,}, but the types are 0 to 12")
    value = cursor.number(_LAYOUTS[kind])
    if kind != _BOOL:
        return value
    if value not in (0, 1):
        raise cursor.error(f"is a bool of value {value}, but must be 0 or 1")
    return bool(value)


def _read_array(cursor: Cursor) -> np.ndarray | StringArray:
    kind = cursor.u32()
    count = cursor.u64()
    if kind == _STRING:
        return cursor.strings(count)
    if kind == _ARRAY:
        # No model uses them, llama.cpp refuses them too, and without them nothing here recurses.
        supported = ("arrays of numbers", "arrays of strings")
        raise UnsupportedModelError(cursor.path, cursor.field, "an array of arrays", supported)
    if kind not in _LAYOUTS:
        raise cursor.error(f"is an array of value type {kind:,}, but the types are 0 to 12")
    dtype = np.dtype(_LAYOUTS[kind].format)
    cursor.check_count(count, dtype.itemsize, "values")
    start = cursor.take(count * dtype.itemsize)
    values = np.frombuffer(cursor.data, dtype, count, start)
    if kind != _BOOL:
        return values
    if count and values.max() > 1:
        raise cursor.error(f"is an array of bools with value {values.max()}, but must be 0 or 1")
    return values.view(np.bool_)
