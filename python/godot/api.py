"""The engine's classes in use, as data: what building/extension_api.py left of the engine's own."""

from __future__ import annotations

import marshal
import os

import godot_interface

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    MethodData = tuple[int, int, str, tuple[str, ...]]  # hash, flags, result and argument types

VIRTUAL = 1
VARARG = 2
STATIC = 4


def _load() -> dict[str, Any]:
    folder = os.path.dirname(godot_interface.__file__)
    with open(os.path.join(folder, "extension_api.marshal"), "rb") as file:
        loaded: dict[str, Any] = marshal.loads(file.read())
    return loaded


_API = _load()
VERSION: str = _API["version"]
SINGLETONS: dict[str, str] = _API["singletons"]
UTILITIES: dict[str, int] = _API["utilities"]
CONTAINERS: dict[str, tuple[int, int]] = _API["containers"]
CONSTANTS: dict[str, int] = _API["constants"]
_CLASSES: dict[str, tuple[str, bool, bytes]] = _API["classes"]
_members: dict[str, Members] = {}


class Members:
    """What one class itself has, without what it inherits."""

    __slots__ = ("constants", "methods", "properties", "signals")

    def __init__(self, data: bytes) -> None:
        self.methods: dict[str, MethodData]
        self.properties: dict[str, tuple[str, str, int]]  # getter, setter, index
        self.signals: list[str]
        self.constants: dict[str, int]
        self.methods, self.properties, self.signals, self.constants = marshal.loads(data)


def has_class(name: str) -> bool:
    return name in _CLASSES


def parent_of(class_name: str) -> str:
    """The class that `class_name` inherits, or an empty string."""
    return _CLASSES[class_name][0]


def is_ref_counted(class_name: str) -> bool:
    found = _CLASSES.get(class_name)
    return found is not None and found[1]


def members_of(class_name: str) -> Members:
    found = _members.get(class_name)
    if found is None:
        found = _members[class_name] = Members(_CLASSES[class_name][2])
    return found


def constant(name: str) -> int:
    return CONSTANTS[name]


def find_virtual(class_name: str, name: str) -> tuple[str, tuple[str, ...]] | None:
    """Result and argument types of the virtual method `name` that `class_name` has or inherits."""
    while class_name:
        found = members_of(class_name).methods.get(name)
        if found is not None and found[1] & VIRTUAL:
            return found[2], found[3]
        class_name = parent_of(class_name)
    return None
