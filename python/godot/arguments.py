"""What the engine calls Python with, and what it gets back: Variants, or typed memory."""

from __future__ import annotations

from .interface import OBJECT, ffi, lib
from .variant import NIL, TYPED_WRITERS, read_all, write_variant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .exports import Type


def read_variants(arguments: Any, count: int) -> list[Any]:
    """The Python values of an array of pointers to Variants."""
    if not count:
        return []
    values = ffi.new("Value[]", count)
    lib.values_read_variants(arguments, count, values)
    return read_all(values, count)


def write_result(returned: Any, declared: Type, target: Any) -> None:
    """Assigns a result to a Variant; raises TypeError where it does not fit the declared type."""
    value = ffi.new("Value *")
    keep: list[Any] = []
    if declared.is_variant or declared.kind in (NIL, OBJECT):
        write_variant(value, returned, keep)
    else:
        TYPED_WRITERS[declared.name](value, returned, keep)
    lib.value_write_variant(value, target)


def write_default(declared: Type, target: Any) -> None:
    """Assigns zero or what is empty to a Variant, so that typed code survives an exception."""
    if declared.kind not in (NIL, OBJECT):
        value = ffi.new("Value *")
        value.type = declared.kind
        lib.value_expect(value)
        lib.value_write_variant(value, target)
        lib.value_destroy(declared.kind, value.opaque)


def read_pointers(arguments: Any, types: list[Type]) -> list[Any]:
    """The Python values of typed arguments."""
    count = len(types)
    if not count:
        return []
    values = ffi.new("Value[]", count)
    for i, declared in enumerate(types):
        values[i].type = declared.kind
        values[i].as_variant = declared.is_variant
    lib.values_read_pointers(arguments, count, values)
    return read_all(values, count)


def write_pointer(target: Any, returned: Any, declared: Type) -> None:
    """Assigns a result to typed engine memory; raises TypeError where it does not fit."""
    value = ffi.new("Value *")
    keep: list[Any] = []
    if declared.is_variant or declared.kind == OBJECT:
        write_variant(value, returned, keep)
        value.as_variant = declared.is_variant
    else:
        TYPED_WRITERS[declared.name](value, returned, keep)
    lib.value_write_pointer(value, declared.kind, declared.is_reference, target)
