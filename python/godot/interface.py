"""The engine's C interface: loaded once, and the names and strings that its calls want.

`lib` holds one function for each of the interface's in use (godot/building/in_use.py) and our C
helpers; each gives up the GIL while it runs. `ffi` allocates what they take.
"""

from __future__ import annotations

import godot_interface

from . import api

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# GDExtensionVariantType of the types that cross, by their names in extension_api.json.
TYPES = {
    "": 0,
    "bool": 1,
    "int": 2,
    "float": 3,
    "String": 4,
    "StringName": 21,
    "NodePath": 22,
    "RID": 23,
    "Callable": 25,
    "Signal": 26,
    "Dictionary": 27,
    "Array": 28,
    "PackedByteArray": 29,
    "PackedInt32Array": 30,
    "PackedFloat32Array": 32,
    "PackedStringArray": 34,
}
OBJECT = 24  # every class

ffi: Any = godot_interface.ffi
lib: Any = godot_interface.lib
library: Any = ffi.NULL
version = "none"
_names: dict[str, Any] = {}
_strings: dict[str, Any] = {}


def load(get_proc_address: int, library_address: int) -> None:
    """Fetches the engine's functions. Raises RuntimeError naming what an engine too old lacks."""
    global library, version
    library = ffi.cast("void *", library_address)
    missing = lib.interface_load(ffi.cast("GDExtensionInterfaceGetProcAddress", get_proc_address))
    if missing == ffi.NULL:
        methods = api.members_of("RefCounted").methods
        missing = lib.values_load(library, methods["reference"][0], methods["init_ref"][0])
    for type_name, hashes in api.CONTAINERS.items():
        if missing == ffi.NULL:
            missing = lib.container_load(TYPES[type_name], *hashes)
    if missing != ffi.NULL:
        raise RuntimeError(
            f"this engine has no {ffi.string(missing).decode()}; Godot 4.4 or newer is needed"
        )
    found = ffi.new("GDExtensionGodotVersion *")
    lib.get_godot_version(found)
    version = ffi.string(found.string).decode()


def unload() -> None:
    """Gives back every name and string; nothing of the engine is touched from here on."""
    for name in _names.values():
        lib.value_destroy(TYPES["StringName"], name)
    for text in _strings.values():
        lib.value_destroy(TYPES["String"], text)
    _names.clear()
    _strings.clear()
    lib.values_close()


def string_name(text: str) -> Any:
    """A StringName that lives until the extension ends: for names of classes and members."""
    found = _names.get(text)
    if found is None:
        found = ffi.new("uint64_t *")
        data = text.encode()
        lib.string_name_new_with_utf8_chars_and_len(found, data, len(data))
        _names[text] = found
    return found


def string(text: str) -> Any:
    """A String that lives until the extension ends: for hints and icons."""
    found = _strings.get(text)
    if found is None:
        found = ffi.new("uint64_t *")
        data = text.encode()
        lib.string_new_with_utf8_chars_and_len2(found, data, len(data))
        _strings[text] = found
    return found


def identity(name: Any) -> int:
    """What is the same for equal StringNames, as long as one of them lives."""
    return int(ffi.cast("uint64_t *", name)[0])
