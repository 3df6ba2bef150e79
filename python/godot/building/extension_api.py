"""The engine's extension_api.json (6 MB) -> what python/godot looks up (a few hundred KB).

The result is a dictionary of what `marshal` can store, because `json` with its regular expressions
would cost more of the engine's start than the data does, and each class's members are marshalled on
their own, to be read when asked for:

    version      "4.6.3.stable"
    classes      name -> (parent, is RefCounted, members), the members marshalled:
        methods      name -> (hash, flags, result type, argument types)
        properties   name -> (getter, setter, index)
        signals      names
        constants    name -> int, those of enums included
    singletons   name -> class
    constants    name -> int, of the global enums in use
    utilities    name -> hash
    containers   name of a built-in type -> hashes of the methods in use
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Mapping
from typing import Any

# Flags of a method.
VIRTUAL = 1
VARARG = 2
STATIC = 4

MARSHAL_VERSION = 2  # the same bytes for every Python from 3.10

VERSION_PARTS = ("major", "minor", "patch", "status")

Class = tuple[str, bool, bytes]


def trim(
    api: dict[str, Any],
    classes: Iterable[str],
    utilities: Iterable[str],
    global_enums: Iterable[str],
    containers: Mapping[str, Iterable[str]],
) -> dict[str, Any]:
    """`api` without what nobody asked for. Raises LookupError for a name that the engine lacks."""
    by_name = {entry["name"]: entry for entry in api["classes"]}
    hashes = {entry["name"]: entry["hash"] for entry in api["utility_functions"]}
    enums = {entry["name"]: entry for entry in api["global_enums"]}
    wanted = with_ancestors(by_name, classes)
    header = api["header"]
    return {
        "version": ".".join(str(header[f"version_{part}"]) for part in VERSION_PARTS),
        "classes": {name: _trim_class(by_name[name]) for name in wanted},
        "singletons": {
            entry["name"]: entry["type"] for entry in api["singletons"] if entry["type"] in wanted
        },
        "constants": {
            value["name"]: value["value"]
            for name in global_enums
            for value in enums[name]["values"]
        },
        "utilities": {name: hashes[name] for name in utilities},
        "containers": {
            name: _method_hashes(api, name, methods) for name, methods in containers.items()
        },
    }


def _method_hashes(api: dict[str, Any], builtin: str, methods: Iterable[str]) -> tuple[int, ...]:
    entry = next(entry for entry in api["builtin_classes"] if entry["name"] == builtin)
    hashes = {method["name"]: method["hash"] for method in entry["methods"]}
    return tuple(hashes[name] for name in methods)


def with_ancestors(by_name: dict[str, Any], classes: Iterable[str]) -> list[str]:
    """`classes` and all that they inherit from, sorted."""
    wanted: set[str] = set()
    for name in classes:
        current = name
        while current and current not in wanted:
            if current not in by_name:
                raise LookupError(f"extension_api.json has no class {current}")
            wanted.add(current)
            current = by_name[current].get("inherits", "")
    return sorted(wanted)


def _trim_class(entry: dict[str, Any]) -> Class:
    constants = {value["name"]: value["value"] for value in entry.get("constants", [])}
    for enum in entry.get("enums", []):
        constants.update({value["name"]: value["value"] for value in enum["values"]})
    methods = {method["name"]: _trim_method(method) for method in entry.get("methods", [])}
    properties = {
        prop["name"]: (prop.get("getter", ""), prop.get("setter", ""), prop.get("index", -1))
        for prop in entry.get("properties", [])
        if "/" not in prop["name"]
    }
    signals = [signal["name"] for signal in entry.get("signals", [])]
    members = marshal.dumps((methods, properties, signals, constants), MARSHAL_VERSION)
    return entry.get("inherits", ""), entry["is_refcounted"], members


def _trim_method(method: dict[str, Any]) -> tuple[int, int, str, tuple[str, ...]]:
    flags = VIRTUAL if method["is_virtual"] else 0
    flags |= VARARG if method["is_vararg"] else 0
    flags |= STATIC if method["is_static"] else 0
    result = short_type(method["return_value"]["type"]) if "return_value" in method else ""
    arguments = tuple(short_type(argument["type"]) for argument in method.get("arguments", []))
    return method.get("hash", 0), flags, result, arguments


def short_type(name: str) -> str:
    """Enums and bit fields travel as int, typed containers as the plain ones."""
    kind = name.partition("::")[0]
    return {
        "enum": "int",
        "bitfield": "int",
        "typedarray": "Array",
        "typeddictionary": "Dictionary",
    }.get(kind, name)
