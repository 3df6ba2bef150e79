"""The engine's class list, trimmed to what is in use."""

from __future__ import annotations

import marshal
from typing import Any

import pytest

from godot.building import extension_api, in_use


def method(name: str, result: str = "", *arguments: str, **flags: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "hash": hash_of(name)}
    entry.update({f"is_{flag}": flags.get(flag, False) for flag in ("virtual", "vararg", "static")})
    if result:
        entry["return_value"] = {"type": result}
    if arguments:
        entry["arguments"] = [{"name": "a", "type": kind} for kind in arguments]
    return entry


def hash_of(name: str) -> int:
    return sum(name.encode())


API: dict[str, Any] = {
    "header": {
        "version_major": 4,
        "version_minor": 6,
        "version_patch": 3,
        "version_status": "stable",
    },
    "classes": [
        {"name": "Object", "is_refcounted": False, "methods": [method("get", "Variant", "String")]},
        {"name": "RefCounted", "inherits": "Object", "is_refcounted": True},
        {
            "name": "Node",
            "inherits": "Object",
            "is_refcounted": False,
            "constants": [{"name": "NOTIFICATION_READY", "value": 13}],
            "enums": [{"name": "Mode", "values": [{"name": "MODE_A", "value": 1}]}],
            "methods": [
                method("_process", "", "float", virtual=True),
                method("find", "typedarray::Node", "enum::Node.Mode", "bitfield::Flags"),
                method("call_all", "Variant", vararg=True),
                method("make", "Node", static=True),
            ],
            "properties": [
                {"name": "name", "getter": "get_name", "setter": "set_name", "type": "StringName"},
                {"name": "theme/x", "getter": "get", "setter": "set", "index": 2, "type": "int"},
            ],
            "signals": [{"name": "ready"}],
        },
        {"name": "Unused", "inherits": "Node", "is_refcounted": False},
    ],
    "singletons": [{"name": "Server", "type": "Node"}, {"name": "Other", "type": "Unused"}],
    "global_enums": [{"name": "Error", "values": [{"name": "OK", "value": 0}]}],
    "utility_functions": [{"name": "print", "hash": 7}, {"name": "sin", "hash": 8}],
    "builtin_classes": [{"name": "Array", "methods": [method("size", "int"), method("resize")]}],
}


def trimmed(*classes: str) -> dict[str, Any]:
    return extension_api.trim(API, classes, ["print"], ["Error"], {"Array": ("size", "resize")})


def members(api: dict[str, Any], name: str) -> Any:
    return marshal.loads(api["classes"][name][2])


def test_classes_come_with_their_ancestors_and_no_others() -> None:
    assert set(trimmed("Node")["classes"]) == {"Object", "Node"}
    assert trimmed("Node")["classes"]["Node"][:2] == ("Object", False)
    assert trimmed("RefCounted")["classes"]["RefCounted"][:2] == ("Object", True)


def test_methods_keep_hash_flags_and_the_types_that_travel() -> None:
    methods = members(trimmed("Node"), "Node")[0]
    assert methods == {
        "_process": (hash_of("_process"), extension_api.VIRTUAL, "", ("float",)),
        "find": (hash_of("find"), 0, "Array", ("int", "int")),
        "call_all": (hash_of("call_all"), extension_api.VARARG, "Variant", ()),
        "make": (hash_of("make"), extension_api.STATIC, "Node", ()),
    }


def test_properties_signals_and_constants() -> None:
    _, properties, signals, constants = members(trimmed("Node"), "Node")
    assert properties == {"name": ("get_name", "set_name", -1)}
    assert signals == ["ready"]
    assert constants == {"NOTIFICATION_READY": 13, "MODE_A": 1}


def test_what_is_not_a_class_is_trimmed_too() -> None:
    api = trimmed("Node")
    assert api["version"] == "4.6.3.stable"
    assert api["singletons"] == {"Server": "Node"}
    assert api["constants"] == {"OK": 0}
    assert api["utilities"] == {"print": 7}
    assert api["containers"] == {"Array": (hash_of("size"), hash_of("resize"))}


def test_an_unknown_class_is_an_error_that_names_it() -> None:
    with pytest.raises(LookupError, match="no class Absent"):
        trimmed("Absent")


def test_the_lists_name_nothing_twice() -> None:
    for names in (in_use.CLASSES, in_use.INTERFACE_FUNCTIONS, in_use.GLOBAL_ENUMS):
        assert len(set(names)) == len(names)
