"""Python callables and signals in the engine, and the engine's callables in Python.

A Python callable that the engine holds lives as long as the engine holds it. A bound method of an
object carries that object's id, so that the engine drops the connection when the object is freed;
nor does it hold an exposed RefCounted one, which could otherwise not connect its own signals.
"""

from __future__ import annotations

from . import interface
from .arguments import read_variants, write_result
from .exports import Type
from .interface import TYPES, ffi, lib, string_name
from .log import report_exception
from .methods import call_variants
from .objects import Counted, Object, is_counted
from .signals import BoundSignal
from .variant import CALLABLE, READERS, TYPED_WRITERS, Opaque, add_writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CALL_OK = 0
_ANY = Type("Any")

# Handles of the Python callables that the engine holds; the handle keeps the callable.
_held: dict[Any, Any] = {}


class Callable(Opaque):
    """A callable of the engine: of GDScript, or a method of an engine class."""

    __slots__ = ()
    kind = CALLABLE

    def __call__(self, *arguments: Any) -> Any:
        return self._call_method("call", arguments)

    def call_deferred(self, *arguments: Any) -> None:
        """Calls it on the main thread, at the end of the frame."""
        self._call_method("call_deferred", arguments)

    def is_valid(self) -> bool:
        return bool(self._call_method("is_valid", ()))

    def get_method(self) -> str:
        return str(self._call_method("get_method", ()))

    def get_object(self) -> Any:
        return self._call_method("get_object", ())

    def _call_method(self, name: str, arguments: tuple[Any, ...]) -> Any:
        base = ffi.new("Value *")
        base.as_variant = 1
        keep: list[Any] = []
        self.lend(base, keep)

        def call(values: Any, count: int, result: Any, error: Any) -> bool:
            lib.value_call(base, string_name(name), values, count, result, error)
            return True

        return call_variants(f"Callable.{name}", call, arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Callable) and bool(
            self._call_method("hash", ()) == other._call_method("hash", ())
        )

    def __hash__(self) -> int:
        return hash(self._call_method("hash", ()))


class _MethodOfCounted:
    """A bound method without a reference to its object."""

    __slots__ = ("__qualname__", "_function", "_owner")

    def __init__(self, method: Any) -> None:
        self.__qualname__ = method.__qualname__
        self._function = method.__func__
        self._owner = Counted(type(method.__self__), method.__self__.__dict__)

    def bind(self) -> Any:
        return self._function.__get__(self._owner.find())

    def __call__(self, *arguments: Any) -> Any:
        return self.bind()(*arguments)

    def _key(self) -> tuple[Any, int]:
        return self._function, self._owner.attributes["_id"]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _MethodOfCounted) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _read_callable(value: Any) -> Any:
    found = Callable.adopt(value)
    handle = lib.callable_custom_get_userdata(found.memory, interface.library)
    if handle == ffi.NULL:
        return found
    held = ffi.from_handle(handle)
    return held.bind() if isinstance(held, _MethodOfCounted) else held


def _write_engine_callable(value: Any, given: Callable, keep: list[Any]) -> None:
    given.lend(value, keep)


def _write_callable(value: Any, given: Any, keep: list[Any]) -> None:
    if isinstance(given, Callable):
        given.lend(value, keep)
        return
    if not callable(given):
        raise TypeError(f"expected a callable, found {type(given).__name__}")
    info = ffi.new("GDExtensionCallableCustomInfo2 *")
    info.token = interface.library
    owner = getattr(given, "__self__", None)
    if isinstance(owner, Object):
        info.object_id = owner._id
        if is_counted(owner):
            given = _MethodOfCounted(given)
    handle = ffi.new_handle(given)
    info.callable_userdata = handle
    info.call_func = lib.on_call_callable
    info.free_func = lib.on_free_callable
    info.hash_func = lib.on_hash_callable
    info.equal_func = lib.on_compare_callables
    info.to_string_func = lib.on_describe_callable
    _held[int(ffi.cast("intptr_t", handle))] = handle
    made = Callable.__new__(Callable)
    made.memory = ffi.new("uint64_t[2]")
    lib.callable_custom_create2(made.memory, info)
    made.lend(value, keep)


def _write_signal(value: Any, given: Any, keep: list[Any]) -> None:
    """As the engine keeps a Signal: its name, which lives until the end, and its object's id."""
    if not isinstance(given, BoundSignal):
        raise TypeError(f"expected a signal, found {type(given).__name__}")
    value.type = TYPES["Signal"]
    value.opaque[0] = string_name(given.name)[0]
    value.opaque[1] = given.object_id


@ffi.def_extern()  # type: ignore[untyped-decorator]
def on_call_callable(callable: Any, arguments: Any, count: int, result: Any, error: Any) -> None:
    function = ffi.from_handle(callable)
    error.error = CALL_OK
    try:
        returned = function(*read_variants(arguments, count))
        if returned is not None:
            write_result(returned, _ANY, result)
    except BaseException:
        report_exception(getattr(function, "__qualname__", type(function).__name__))


@ffi.def_extern()  # type: ignore[untyped-decorator]
def on_free_callable(callable: Any) -> None:
    _held.pop(int(ffi.cast("intptr_t", callable)), None)


@ffi.def_extern()  # type: ignore[untyped-decorator]
def on_hash_callable(callable: Any) -> int:
    try:
        return hash(ffi.from_handle(callable)) & 0xFFFFFFFF
    except TypeError:  # a callable that cannot be hashed is only equal to itself
        return int(ffi.cast("intptr_t", callable)) & 0xFFFFFFFF


@ffi.def_extern()  # type: ignore[untyped-decorator]
def on_compare_callables(left: Any, right: Any) -> int:
    try:
        return int(left == right or ffi.from_handle(left) == ffi.from_handle(right))
    except Exception:
        report_exception("Callable.==")
        return 0


@ffi.def_extern()  # type: ignore[untyped-decorator]
def on_describe_callable(callable: Any, is_valid: Any, text: Any) -> None:
    function = ffi.from_handle(callable)
    data = getattr(function, "__qualname__", type(function).__name__).encode()
    lib.string_new_with_utf8_chars_and_len2(text, data, len(data))
    is_valid[0] = 1


READERS[CALLABLE] = _read_callable
TYPED_WRITERS["Callable"] = _write_callable
TYPED_WRITERS["Signal"] = _write_signal
add_writer(BoundSignal, _write_signal)
add_writer(Callable, _write_engine_callable)
