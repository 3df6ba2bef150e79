"""Python values <-> engine values, through the `Value` records of native/interface/values.h.

| engine | Python, when read | Python, when given |
| --- | --- | --- |
| null | None | None |
| bool, int, float | the same | the same |
| String | str | str |
| StringName, NodePath | StringName, NodePath (str) | the same |
| RID | RID (int) | RID |
| Array, Dictionary | list, dict: copies | list, tuple, dict |
| Packed…Array | classes of packed.py, the same memory | the same; bytes-like for bytes |
| Callable | Callable, or the Python callable itself | any callable |
| Object | the Python object itself, or a proxy of objects.py | the same |

Tables hold a function for each type; packed.py, callables.py and objects.py add theirs.
"""

from __future__ import annotations

from operator import index

from .interface import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable as Function
    from typing import Any

    # The record, the value, and a list that keeps alive what the record points to.
    Writer = Function[[Any, Any, list[Any]], None]

NIL, BOOL, INT, FLOAT, STRING = range(5)
STRING_NAME, NODE_PATH, RID_TYPE, OBJECT, CALLABLE = range(21, 26)
DICTIONARY, ARRAY, PACKED_BYTE_ARRAY, PACKED_INT32_ARRAY = range(27, 31)
PACKED_FLOAT32_ARRAY = 32
PACKED_STRING_ARRAY = 34


class StringName(str):
    """Text that the engine compares by identity: names of methods, signals, nodes."""

    __slots__ = ()


class NodePath(str):
    """A path to a node or property."""

    __slots__ = ()


class RID(int):
    """A resource of a server, such as a buffer of a RenderingDevice, that its owner frees."""

    __slots__ = ()

    @property
    def id(self) -> int:
        return int(self)

    def is_valid(self) -> bool:
        return self != 0

    def __repr__(self) -> str:
        return f"RID({int(self)})"


# --- engine -> Python -----------------------------------------------------------------


def _read_text(value: Any) -> str:
    return str(ffi.buffer(value.text, value.length)[:], "utf-8", "replace")


def _read_array(value: Any) -> list[Any]:
    array = ffi.new("uint64_t[2]", [value.opaque[0], 0])
    try:
        count = lib.container_size(ARRAY, array)
        values = ffi.new("Value[]", max(count, 1))
        lib.array_read(array, count, values)
        return read_all(values, count)
    finally:
        lib.value_destroy(ARRAY, array)


def _read_dictionary(value: Any) -> dict[Any, Any]:
    dictionary = ffi.new("uint64_t[2]", [value.opaque[0], 0])
    try:
        count = lib.container_size(DICTIONARY, dictionary)
        values = ffi.new("Value[]", max(2 * count, 1))
        lib.dictionary_read(dictionary, count, values)
        items = read_all(values, 2 * count)
        return dict(zip(items[::2], items[1::2], strict=True))
    finally:
        lib.value_destroy(DICTIONARY, dictionary)


READERS: dict[int, Function[[Any], Any]] = {
    NIL: lambda value: None,
    BOOL: lambda value: value.boolean != 0,
    INT: lambda value: value.integer,
    FLOAT: lambda value: value.real,
    STRING: _read_text,
    STRING_NAME: lambda value: StringName(_read_text(value)),
    NODE_PATH: lambda value: NodePath(_read_text(value)),
    RID_TYPE: lambda value: RID(value.opaque[0]),
    ARRAY: _read_array,
    DICTIONARY: _read_dictionary,
}

_TEXTS = frozenset((STRING, STRING_NAME, NODE_PATH))


def _no_counterpart(kind: int) -> TypeError:
    name = ffi.new("Value *")
    name.type = STRING
    lib.value_type_name(kind, name.opaque)
    lib.value_take(name)
    return TypeError(f"a {read(name)} has no counterpart in Python")


def read(value: Any) -> Any:
    """The Python value of a pointer to one record; what the record owns goes over to it."""
    reader = READERS.get(value.type)
    if reader is None:
        raise _no_counterpart(value.type)
    if value.type in _TEXTS:
        try:
            return reader(value)
        finally:
            lib.values_free(value, 1)
    return reader(value)


def read_all(values: Any, count: int) -> list[Any]:
    """The Python values of an array of records; all are read where one fails, so nothing leaks."""
    items: list[Any] = []
    failure: Exception | None = None
    has_text = False
    for i in range(count):
        value = values[i]
        kind = value.type
        reader = READERS.get(kind)
        try:
            if reader is None:
                raise _no_counterpart(kind)
            items.append(reader(value))
        except (TypeError, RecursionError) as error:
            failure = error
        has_text = has_text or kind in _TEXTS
    if has_text:
        lib.values_free(values, count)
    if failure is not None:
        raise failure
    return items


# --- Python -> engine -----------------------------------------------------------------


def _write_none(value: Any, given: Any, keep: list[Any]) -> None:
    if given is not None:
        raise TypeError(f"expected None, found {type(given).__name__}")
    value.type = NIL


def write_bool(value: Any, given: Any, keep: list[Any]) -> None:
    value.type = BOOL
    value.boolean = bool(given)


def write_int(value: Any, given: Any, keep: list[Any]) -> None:
    value.type = INT
    value.integer = index(given)


def write_float(value: Any, given: Any, keep: list[Any]) -> None:
    value.type = FLOAT
    value.real = float(given)


def _write_rid(value: Any, given: Any, keep: list[Any]) -> None:
    if not isinstance(given, RID):
        raise TypeError(f"expected a RID, found {type(given).__name__}")
    value.type = RID_TYPE
    value.opaque[0] = given


def _text_writer(kind: int) -> Writer:
    def write_text(value: Any, given: Any, keep: list[Any]) -> None:
        if not isinstance(given, str):
            raise TypeError(f"expected str, found {type(given).__name__}")
        data = ffi.from_buffer(given.encode("utf-8", "replace"))
        keep.append(data)
        value.type = kind
        value.text = data
        value.length = len(data)

    return write_text


class Opaque:
    """An engine value that Python owns: 16 bytes, destroyed with this object."""

    __slots__ = ("__weakref__", "memory")

    kind = NIL

    def __init__(self) -> None:
        self.memory = ffi.new("uint64_t[2]")
        lib.value_create(self.kind, self.memory)

    @classmethod
    def adopt(cls, value: Any) -> Any:
        """Takes over what a record read holds."""
        self = cls.__new__(cls)
        self.memory = ffi.new("uint64_t[2]", [value.opaque[0], value.opaque[1]])
        return self

    def lend(self, value: Any, keep: list[Any]) -> None:
        """Lets a record point to this value for the time of a call."""
        value.type = self.kind
        value.opaque[0] = self.memory[0]
        value.opaque[1] = self.memory[1]
        keep.append(self)

    def __del__(self) -> None:
        memory = getattr(self, "memory", None)  # absent where __init__ was cut short
        if memory is not None:
            lib.value_destroy(self.kind, memory)


class _Array(Opaque):
    __slots__ = ()
    kind = ARRAY


class _Dictionary(Opaque):
    __slots__ = ()
    kind = DICTIONARY


def _write_array(value: Any, given: Any, keep: list[Any]) -> None:
    array = _Array()
    items = list(given)
    values = ffi.new("Value[]", max(len(items), 1))
    inner: list[Any] = []
    _fill_nested(values, items, inner, keep)
    lib.array_fill(array.memory, values, len(items))
    array.lend(value, keep)


def _write_dictionary(value: Any, given: Any, keep: list[Any]) -> None:
    dictionary = _Dictionary()
    items = [part for pair in given.items() for part in pair]
    values = ffi.new("Value[]", max(len(items), 1))
    inner: list[Any] = []
    _fill_nested(values, items, inner, keep)
    lib.dictionary_fill(dictionary.memory, values, len(items) // 2)
    dictionary.lend(value, keep)


def _fill_nested(values: Any, items: list[Any], inner: list[Any], keep: list[Any]) -> None:
    for i, item in enumerate(items):
        writer = _WRITERS.get(type(item)) or _find_writer(type(item))
        writer(values[i], item, inner)
    keep.append(inner)


_WRITERS: dict[type, Writer] = {
    type(None): _write_none,
    bool: write_bool,
    int: write_int,
    float: write_float,
    str: _text_writer(STRING),
    StringName: _text_writer(STRING_NAME),
    NodePath: _text_writer(NODE_PATH),
    RID: _write_rid,
    list: _write_array,
    tuple: _write_array,
    dict: _write_dictionary,
}

# Where the engine asks for one type, by the names of extension_api.json; objects are in objects.py.
TYPED_WRITERS: dict[str, Writer] = {
    "bool": write_bool,
    "int": write_int,
    "float": write_float,
    "String": _text_writer(STRING),
    "StringName": _text_writer(STRING_NAME),
    "NodePath": _text_writer(NODE_PATH),
    "RID": _write_rid,
    "Array": _write_array,
    "Dictionary": _write_dictionary,
}


def add_writer(python_type: type, writer: Writer) -> None:
    _WRITERS[python_type] = writer


def _find_writer(python_type: type) -> Writer:
    """The writer of the nearest base class, or of what the type can be turned into."""
    for base in python_type.__mro__:
        if base in _WRITERS:
            return _WRITERS[base]
    if hasattr(python_type, "__index__"):
        return write_int
    if hasattr(python_type, "__float__"):
        return write_float
    if any("__call__" in base.__dict__ for base in python_type.__mro__):
        return TYPED_WRITERS["Callable"]
    raise TypeError(f"a {python_type.__name__} has no counterpart in the engine")


def write_variant(value: Any, given: Any, keep: list[Any]) -> None:
    """Fills a record with whatever `given` is, for a parameter that takes any type."""
    value.as_variant = 1
    writer = _WRITERS.get(type(given)) or _find_writer(type(given))
    writer(value, given, keep)


TYPED_WRITERS["Variant"] = write_variant


_object_type: type = type(None)
_write_object: Writer


def set_object_type(python_type: type, writer: Writer) -> None:
    """objects.py says what an engine object is, and how one is written."""
    global _object_type, _write_object
    _object_type = python_type
    _write_object = writer


def object_writer(class_name: str) -> Writer:
    """The writer for a parameter of an engine class, which takes None too."""

    def write(value: Any, given: Any, keep: list[Any]) -> None:
        if given is None:
            value.type = OBJECT
            value.object = ffi.NULL
        elif isinstance(given, _object_type):
            _write_object(value, given, keep)
        else:
            raise TypeError(f"expected {class_name} or None, found {type(given).__name__}")

    return write
