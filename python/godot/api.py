"""The engine's classes in use, as data: what scons trimmed from extension_api.json (godot/building/extension_api.py)."""

from __future__ import annotations

import marshal

import godot_interface

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VIRTUAL = 1
VARARG = 2
STATIC = 4


def _load() -> dict[str, Any]:
    folder = godot_interface.__file__.rpartition("/")[0]
    with open(f"{folder}/extension_api.marshal", "rb") as file:
        loaded: dict[str, Any] = marshal.load(file)
    return loaded


_API = _load()
VERSION: str = _API["version"]
CLASSES: dict[str, Any] = _API["classes"]
SINGLETONS: dict[str, str] = _API["singletons"]
UTILITIES: dict[str, int] = _API["utilities"]
CONTAINERS: dict[str, tuple[int, int]] = _API["containers"]
CONSTANTS: dict[str, int] = _API["constants"]


def constant(name: str) -> int:
    return CONSTANTS[name]


def is_ref_counted(class_name: str) -> bool:
    found = CLASSES.get(class_name)
    return found is not None and found[1]


def find_virtual(class_name: str, name: str) -> tuple[str, tuple[str, ...]] | None:
    """Result and argument types of the virtual method `name` that `class_name` has or inherits."""
    while class_name:
        parent, _, methods, *_ = CLASSES[class_name]
        found = methods.get(name)
        if found is not None and found[1] & VIRTUAL:
            return found[2], found[3]
        class_name = parent
    return None
