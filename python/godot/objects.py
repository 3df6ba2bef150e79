"""Engine objects as Python objects.

An object of the engine is a proxy: two proxies of one object are equal, not identical. A RefCounted
one is held by its proxy; of any other the proxy notices, by its instance id, that it was freed.

Instances of `exposed` classes are themselves, never proxies, unless they are RefCounted: of those
Python sees proxies that share one set of attributes, so that the engine's count says everything.
As in the engine, objects that hold each other in a circle are never freed.
"""

from __future__ import annotations

from . import api
from .errors import FreedObjectError
from .interface import OBJECT, ffi, lib, string_name
from .methods import dynamic_method
from .signals import BoundSignal
from .variant import READERS, add_writer, set_object_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable as Function
    from typing import Any

POSTINITIALIZE = 0  # Object.NOTIFICATION_POSTINITIALIZE


class ObjectType(type):
    """Calling a class makes an object of the engine."""

    def __call__(cls, *arguments: Any) -> Any:
        if arguments:
            raise TypeError(f"{cls.__name__}() takes no arguments: the engine gives none")
        create = cls.__dict__.get("_create_instance")
        if create is not None:
            return create()
        pointer = lib.classdb_construct_object2(string_name(cls.__name__))
        if pointer == ffi.NULL:
            raise TypeError(f"the engine makes no objects of class {cls.__name__}")
        is_ref_counted = api.is_ref_counted(cls.__name__)
        if is_ref_counted:
            lib.object_init_reference(pointer)
        made = proxy(cls, pointer, lib.object_get_instance_id(pointer), is_ref_counted)
        made.notification(POSTINITIALIZE)
        return made


class Object(metaclass=ObjectType):
    """The engine's base class; classes.py adds its methods."""

    __slots__ = ("__dict__", "__weakref__", "_owned")

    _owned: bool  # this proxy holds a reference; no attribute, as those may be shared
    _pointer: Any = ffi.NULL
    _id = 0  # instance id
    _check = 0  # the instance id where others may free the object, else 0

    if TYPE_CHECKING:  # of the engine's own methods, those that this module calls
        get: Function[[str], Any]
        set: Function[[str, Any], None]
        has_method: Function[[str], bool]
        has_signal: Function[[str], bool]
        notification: Function[[int], None]
        get_property_list: Function[[], list[dict[str, Any]]]

    def free(self) -> None:
        """Destroys the object now. RefCounted ones destroy themselves."""
        if self._owned or not self._check:
            raise TypeError(f"a {type(self).__name__} is not freed by hand")
        lib.object_destroy(pointer_of(self))

    def is_freed(self) -> bool:
        """Whether the engine's object is gone."""
        return bool(self._check) and lib.object_get_instance_from_id(self._check) == ffi.NULL

    def __getattr__(self, name: str) -> Any:
        """What the class does not have, a script on the object, or its class in the engine, may."""
        if not name.startswith("_") and self._pointer != ffi.NULL:
            if self.has_method(name):
                return dynamic_method(self, name)
            if self.has_signal(name):
                return BoundSignal(self, name)
            if self._has_property(name):
                return self.get(name)
        raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        # For proxies, where a new attribute would be lost; `exposed` gives Python's own back.
        if name.startswith("_") or hasattr(type(self), name):
            object.__setattr__(self, name, value)
        elif self._has_property(name):
            self.set(name, value)
        else:
            raise AttributeError(f"{type(self).__name__} has no property '{name}'")

    def _has_property(self, name: str) -> bool:
        return any(info["name"] == name for info in self.get_property_list())

    def __del__(self) -> None:
        if self._owned:
            self._owned = False
            lib.object_release(self._pointer)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Object) and self._id == other._id

    def __hash__(self) -> int:
        return hash(self._id)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}#{self._id}>"


def proxy(cls: Any, pointer: Any, instance_id: int, owned: bool) -> Any:
    """A Python object for one of the engine's; `owned` hands a reference over to it."""
    made: Any = object.__new__(cls)
    made._pointer = pointer
    made._id = instance_id
    made._owned = owned
    if not owned:
        made._check = instance_id
    return made


class Counted:
    """What the engine holds of an exposed RefCounted object: the attributes of its proxies."""

    __slots__ = ("attributes", "cls")

    def __init__(self, cls: type, attributes: dict[str, Any]) -> None:
        self.cls = cls
        self.attributes = attributes

    def proxy(self, owned: bool) -> Any:
        """As the function above."""
        made: Any = object.__new__(self.cls)
        made.__dict__ = self.attributes
        made._owned = owned
        return made


def instance_of(handle: Any) -> Any:
    """The Python object, or a proxy of its own, behind a handle that the engine holds."""
    found = ffi.from_handle(handle)
    if type(found) is Counted:
        return found.proxy(lib.object_reference(found.attributes["_pointer"]))
    return found


def pointer_of(value: Object) -> Any:
    """The engine's pointer; raises FreedObjectError where the object is gone."""
    if value._check and lib.object_get_instance_from_id(value._check) == ffi.NULL:
        raise FreedObjectError(f"{value!r} was freed")
    return value._pointer


def _read_object(value: Any) -> Any:
    if value.object == ffi.NULL:
        return None
    if value.python != ffi.NULL:
        found = ffi.from_handle(value.python)
        return found.proxy(value.owned != 0) if type(found) is Counted else found
    from .classes import class_of

    return proxy(class_of(value), value.object, value.opaque[2], value.owned != 0)


def _write_object(value: Any, given: Any, keep: list[Any]) -> None:
    value.type = OBJECT
    value.object = pointer_of(given)
    keep.append(given)


READERS[OBJECT] = _read_object
add_writer(Object, _write_object)
set_object_type(Object, _write_object)
