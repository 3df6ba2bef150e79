"""Engine classes, singletons and global constants, made when they are first asked for."""

from __future__ import annotations

from . import api
from .interface import ffi, lib, string_name
from .methods import EngineMethod, EngineProperty
from .objects import Object, ObjectType, proxy
from .signals import SignalOfClass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_classes: dict[str, Any] = {}
_classes_by_identity: dict[int, Any] = {}  # interface.identity() of the class's name
_singletons: dict[str, Any] = {}


def lookup(name: str) -> Any:
    """What `from godot import NAME` gives; raises AttributeError for what is not there."""
    if name in api.SINGLETONS:
        return singleton(name)
    if name in api.CONSTANTS:
        return api.CONSTANTS[name]
    try:
        return engine_class(name)
    except LookupError as error:
        raise AttributeError(str(error)) from None


def engine_class(name: str) -> Any:
    """The Python class of an engine class; raises LookupError for one that is not carried."""
    found = _classes.get(name)
    if found is None:
        if not api.has_class(name):
            raise LookupError(
                f"no engine class '{name}' here; python/godot/building/in_use.py lists those known"
            )
        attributes = _attributes(name)
        if name == "Object":
            found = Object
            for key, value in attributes.items():
                if key not in Object.__dict__:
                    setattr(Object, key, value)
        else:
            attributes["__module__"] = "godot"
            found = ObjectType(name, (engine_class(api.parent_of(name)),), attributes)
        _classes[name] = found
    return found


def _attributes(name: str) -> dict[str, Any]:
    members = api.members_of(name)
    attributes: dict[str, Any] = dict(members.constants)
    for signal in members.signals:
        attributes[signal] = SignalOfClass(signal)
    for prop, accessors in members.properties.items():
        attributes[prop] = EngineProperty(*accessors)
    for method, data in members.methods.items():
        if not data[1] & api.VIRTUAL:
            attributes[method] = EngineMethod(name, method, data)
    return attributes


def add_class(name: str, cls: type) -> None:
    """Makes `cls` the Python class of what the engine knows as `name`."""
    _classes[name] = cls


def class_of(value: Any) -> Any:
    """The class for an object that was read: its own, or the nearest ancestor that there is."""
    identity = value.opaque[1]
    found = _classes_by_identity.get(identity)
    if found is None:
        name = proxy(engine_class("Object"), value.object, value.opaque[2], False).get_class()
        class_db = singleton("ClassDB")
        while found is None:
            try:
                found = engine_class(name)
            except LookupError:
                name = class_db.get_parent_class(name)
        _classes_by_identity[identity] = found
    return found


def singleton(name: str) -> Any:
    """E.g. Engine; raises AttributeError for one not in this process, e.g. EditorInterface."""
    found = _singletons.get(name)
    if found is None:
        pointer = lib.global_get_singleton(string_name(name))
        if pointer == ffi.NULL:
            raise AttributeError(f"there is no {name} in this process")
        # Nobody frees a singleton while Python runs, so it needs no look-up before each call.
        found = proxy(engine_class(api.SINGLETONS[name]), pointer, 0, False)
        found._id = lib.object_get_instance_id(pointer)
        _singletons[name] = found
    return found


engine_class("Object")
