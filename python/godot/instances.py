"""Instances of exposed classes: the engine makes, frees and notifies them, and calls virtuals.

A Python instance lives as long as the engine's object: `_alive` holds it, `on_free_instance` lets
it go; of a RefCounted one, its attributes do. Both directions go through one handle: the engine
stores it with the object, `instance_of` turns it into the instance.
"""

from __future__ import annotations

import gc

from . import api, interface
from .arguments import read_pointers, write_pointer
from .exports import Type
from .interface import ffi, identity, lib, string_name
from .log import report_exception
from .objects import POSTINITIALIZE, Counted, Object, instance_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable as Function
    from typing import Any

_alive: dict[int, Any] = {}  # address of a handle -> the handle, which holds an instance or Counted
_no_callbacks = ffi.new("GDExtensionInstanceBindingCallbacks *")
_shutdown: list[Function[[], None]] = []


def on_shutdown(callback: Function[[], None]) -> None:
    """Calls `callback` before the extension ends, e.g. to stop threads; the last added first."""
    _shutdown.append(callback)


def shut_down() -> None:
    while _shutdown:
        callback = _shutdown.pop()
        try:
            callback()
        except BaseException:
            report_exception("on_shutdown")
    _release_all()


def _release_all() -> None:
    """Gives back the references of Python's globals, so that no object outlives its class."""
    for found in gc.get_objects():
        if issubclass(type(found), Object):
            found.__del__()


class Virtual:
    """A virtual method of the engine that a Python class overrides."""

    __slots__ = ("function", "handle", "name", "result", "types")

    def __init__(self, where: str, function: Any, result: str, types: tuple[str, ...]) -> None:
        self.name = where
        self.function = function
        self.result = Type(result) if result else None
        self.types = [Type(kind) for kind in types]
        self.handle = ffi.new_handle(self)


class ClassRecord:
    """What the engine's callbacks need to know of one exposed class."""

    __slots__ = ("cls", "handle", "is_ref_counted", "name", "native_parent", "virtuals")

    def __init__(self, cls: type, native_parent: str) -> None:
        self.cls = cls
        self.name = cls.__name__
        self.native_parent = native_parent
        self.is_ref_counted = api.is_ref_counted(native_parent)
        self.virtuals = _find_virtuals(cls, native_parent)
        self.handle = ffi.new_handle(self)


def _find_virtuals(cls: type, native_parent: str) -> dict[int, Virtual]:
    """By the identity of their names: the engine asks for a dozen whenever it makes a node."""
    found = {}
    for base in reversed(cls.__mro__):
        for name, function in base.__dict__.items():
            if name.startswith("_") and not name.startswith("__") and callable(function):
                signature = api.find_virtual(native_parent, name)
                if signature is not None:
                    found[identity(string_name(name))] = Virtual(
                        f"{cls.__name__}.{name}", function, *signature
                    )
    return found


def create_instance(record: ClassRecord, reference: Function[[Any], Any], notify: bool) -> Any:
    """A new engine object with its Python instance; an exception in `__init__` is reported.

    `reference` gives the instance its reference where the object is RefCounted: the first one,
    or another, when the first is the engine's.
    """
    pointer = lib.classdb_construct_object2(string_name(record.native_parent))
    instance: Any = object.__new__(record.cls)
    instance._owned = False
    instance._pointer = pointer
    instance._id = instance._check = lib.object_get_instance_id(pointer)
    if record.is_ref_counted:
        reference(pointer)
        instance._owned = True
        handle = ffi.new_handle(Counted(record.cls, instance.__dict__))
    else:
        handle = ffi.new_handle(instance)
    _alive[int(ffi.cast("intptr_t", handle))] = handle
    lib.object_set_instance(pointer, string_name(record.name), handle)
    lib.object_set_instance_binding(pointer, interface.library, handle, _no_callbacks)
    try:
        instance.__init__()
    except BaseException:
        report_exception(f"{record.name}.__init__")
    if notify:
        instance.notification(POSTINITIALIZE)
    return instance


@ffi.def_extern()  # type: ignore[untyped-decorator]
def on_create_instance(userdata: Any, notify: int) -> Any:
    try:
        instance = create_instance(ffi.from_handle(userdata), lib.object_reference, notify != 0)
        if instance._owned and instance.get_reference_count() == 1:
            # Whoever was given it meanwhile has taken, and given back, the engine's own reference.
            # A deferred call's argument holds it until the engine has another.
            instance.call_deferred("get_meta", "_", instance)
        return instance._pointer
    except BaseException:
        report_exception("create_instance")
        return ffi.NULL


@ffi.def_extern()  # type: ignore[untyped-decorator]
def on_free_instance(userdata: Any, handle: Any) -> None:
    _alive.pop(int(ffi.cast("intptr_t", handle)), None)


@ffi.def_extern()  # type: ignore[untyped-decorator]
def on_notification(handle: Any, what: int, is_reversed: int) -> None:
    instance = instance_of(handle)
    try:
        instance._notification(what)
    except BaseException:
        report_exception(f"{type(instance).__name__}._notification")


@ffi.def_extern()  # type: ignore[untyped-decorator]
def on_find_virtual(userdata: Any, name: Any, hash: int) -> Any:
    found = ffi.from_handle(userdata).virtuals.get(identity(name))
    return ffi.NULL if found is None else found.handle


@ffi.def_extern()  # type: ignore[untyped-decorator]
def on_call_virtual(handle: Any, name: Any, userdata: Any, arguments: Any, result: Any) -> None:
    virtual = ffi.from_handle(userdata)
    try:
        returned = virtual.function(instance_of(handle), *read_pointers(arguments, virtual.types))
        if virtual.result is not None:
            write_pointer(result, returned, virtual.result)
    except BaseException:
        report_exception(virtual.name)
