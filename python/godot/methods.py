"""Methods and properties of engine classes, as attributes of the Python classes.

A call with all its arguments goes through typed pointers; one that leaves some out, or a method
with any number of arguments, goes through Variants, where the engine fills in defaults and checks.
"""

from __future__ import annotations

from . import api, interface
from .errors import FreedObjectError
from .interface import OBJECT, TYPES, ffi, lib, string_name
from .variant import TYPED_WRITERS, object_writer, read, write_variant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable as Function
    from typing import Any

# GDExtensionCallErrorType -> what to say.
_CALL_ERRORS = {
    1: "there is no such method",
    2: "argument {argument} has the wrong type",
    3: "too many arguments, {expected} wanted",
    4: "too few arguments, {expected} wanted",
    5: "the object is null",
    6: "the method is not const",
}


class EngineMethod:
    """A method not called so far: the first access puts a function in its place."""

    __slots__ = ("_class_name", "_data", "_name")

    def __init__(self, class_name: str, name: str, data: api.MethodData) -> None:
        self._class_name = class_name
        self._name = name
        self._data = data

    def __get__(self, instance: Any, owner: type) -> Any:
        function: Any = make_method(self._class_name, self._name, *self._data)
        if self._data[1] & api.STATIC:
            function = staticmethod(function)
        # No class has it any more where another thread was faster.
        homes = [cls for cls in owner.__mro__ if cls.__dict__.get(self._name) is self]
        for home in homes:
            setattr(home, self._name, function)
        return function.__get__(instance, owner)


class EngineProperty:
    """A property of an engine class, by its getter and setter."""

    __slots__ = ("_getter", "_index", "_setter")

    def __init__(self, getter: str, setter: str, index: int) -> None:
        self._getter = getter
        self._setter = setter
        self._index = index  # of several properties that share accessors; negative for the others

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        getter = getattr(instance, self._getter)
        return getter() if self._index < 0 else getter(self._index)

    def __set__(self, instance: Any, value: Any) -> None:
        if not self._setter:
            raise AttributeError("this property is read-only")
        setter = getattr(instance, self._setter)
        if self._index < 0:
            setter(value)
        else:
            setter(self._index, value)


def method_bind(class_name: str, name: str, method_hash: int) -> Any:
    """The engine's binding; raises RuntimeError where its signature is not the one we know."""
    bind = lib.classdb_get_method_bind(string_name(class_name), string_name(name), method_hash)
    if bind == ffi.NULL:
        raise RuntimeError(
            f"{class_name}.{name} is not in {interface.version} as Godot {api.VERSION} has it; "
            "build the add-on anew for this engine (scons godot=PATH)"
        )
    return bind


def make_method(
    class_name: str, name: str, method_hash: int, flags: int, result: str, types: tuple[str, ...]
) -> Any:
    """The Python function that calls one method of the engine."""
    bind = method_bind(class_name, name, method_hash)
    where = f"{class_name}.{name}"
    is_typed = not flags & api.VARARG and all(map(_crosses, (result, *types)))
    call_typed = _typed_call(where, bind, result, types) if is_typed else None
    count = len(types)

    def call_with(pointer: Any, check: int, arguments: tuple[Any, ...]) -> Any:
        if call_typed is not None and len(arguments) == count:
            return call_typed(pointer, check, arguments)

        def call(*rest: Any) -> Any:
            return lib.method_call_variants(bind, pointer, check, *rest)

        return call_variants(where, call, arguments)

    def method(self: Any, *arguments: Any) -> Any:
        return call_with(self._pointer, self._check, arguments)

    def static_method(*arguments: Any) -> Any:
        return call_with(ffi.NULL, 0, arguments)

    function = static_method if flags & api.STATIC else method
    function.__name__ = name
    function.__qualname__ = where
    return function


def _crosses(type_name: str) -> bool:
    return type_name in TYPES or type_name == "Variant" or api.has_class(type_name)


def _typed_call(where: str, bind: Any, result: str, types: tuple[str, ...]) -> Any:
    count = len(types)
    writers = [TYPED_WRITERS.get(name) or object_writer(name) for name in types]
    result_type = TYPES.get(result, OBJECT)
    result_is_variant = result == "Variant"
    result_is_reference = api.is_ref_counted(result)

    def call(pointer: Any, check: int, arguments: tuple[Any, ...]) -> Any:
        values = ffi.new("Value[]", count) if count else ffi.NULL
        keep: list[Any] = []
        for i, argument in enumerate(arguments):
            try:
                writers[i](values[i], argument, keep)
            except (TypeError, OverflowError) as error:
                message = f"{where}, argument {i + 1} ({types[i]}): {error}"
                raise type(error)(message) from None
        value = ffi.new("Value *")
        if result_is_variant:
            value.as_variant = 1
        else:
            value.type = result_type
            value.owned = result_is_reference
        if not lib.method_call_typed(bind, pointer, check, values, count, value):
            raise FreedObjectError(f"{where}: the object was freed")
        return read(value)

    return call


def call_variants(where: str, function: Function[..., Any], arguments: tuple[Any, ...]) -> Any:
    """A call whose omitted arguments the engine fills in.

    `function` gets the values, their number, a record for the result and one for the error, and
    tells whether the object was there.
    """
    count = len(arguments)
    values = ffi.new("Value[]", count) if count else ffi.NULL
    keep: list[Any] = []
    for i, argument in enumerate(arguments):
        write_variant(values[i], argument, keep)
    result = ffi.new("Value *")
    error = ffi.new("GDExtensionCallError *")
    if not function(values, count, result, error):
        raise FreedObjectError(f"{where}: the object was freed")
    if error.error:
        reason = _CALL_ERRORS[error.error]
        reason = reason.format(argument=error.argument + 1, expected=error.expected)
        raise TypeError(f"{where}: {reason}")
    return read(result)


def dynamic_method(self: Any, name: str) -> Function[..., Any]:
    """A method that only the engine knows of, such as a script's, called by name."""
    where = f"{type(self).__name__}.{name}"

    def method(*arguments: Any) -> Any:
        def call(*rest: Any) -> Any:
            return lib.object_call(self._pointer, self._check, string_name(name), *rest)

        return call_variants(where, call, arguments)

    return method
