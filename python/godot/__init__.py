"""Godot 4 for Python: engine classes, and Python classes as nodes and resources.

Knows no language models.

    api            the engine's classes as data, with method hashes
    interface      the engine's C functions, names and version
    variant        Python values <-> engine values
    packed         packed arrays, in engine memory
    methods        methods and properties of engine classes
    objects        engine objects as Python objects
    classes        engine classes, singletons and constants, on demand
    callables      Python callables in the engine, the engine's in Python
    signals        signals as attributes
    exports        what a class declares: properties, signals, methods
    arguments      what the engine calls Python with, and what it gets back
    instances      instances of exposed classes, and what the engine calls in them
    registration   a Python class -> a class of the engine
    compute        a table of compute dispatches, played without Python in between
    log            the engine's log
    docs           the editor's help
    command        the node that runs a Python module as a program
    startup        what the extension calls

Everything is imported on first use, so that this package can be imported without an engine.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .callables import Callable as Callable
    from .errors import FreedObjectError as FreedObjectError
    from .exports import export as export
    from .exports import signal as signal
    from .instances import on_shutdown as on_shutdown
    from .log import log_error as log_error
    from .log import log_warning as log_warning
    from .log import print as print
    from .objects import Object as Object
    from .packed import PackedByteArray as PackedByteArray
    from .packed import PackedFloat32Array as PackedFloat32Array
    from .packed import PackedInt32Array as PackedInt32Array
    from .packed import PackedStringArray as PackedStringArray
    from .registration import exposed as exposed
    from .signals import BoundSignal as BoundSignal
    from .variant import RID as RID
    from .variant import NodePath as NodePath
    from .variant import StringName as StringName

    class Node(Object):
        """Enough of the engine's class for a type checker; at run time it is the real one."""

        def __getattr__(self, name: str) -> Any: ...

    class RefCounted(Object):
        """As Node."""

        def __getattr__(self, name: str) -> Any: ...

    class Resource(RefCounted):
        """As Node."""


# Which module a name comes from; any other is an engine class, a singleton or a constant.
_MODULES = {
    "BoundSignal": "signals",
    "Callable": "callables",
    "export": "exports",
    "signal": "exports",
    "on_shutdown": "instances",
    "log_error": "log",
    "log_warning": "log",
    "print": "log",
    "FreedObjectError": "errors",
    "Object": "objects",
    "PackedByteArray": "packed",
    "PackedFloat32Array": "packed",
    "PackedInt32Array": "packed",
    "PackedStringArray": "packed",
    "exposed": "registration",
    "RID": "variant",
    "NodePath": "variant",
    "StringName": "variant",
}

# Property hints by the names that declarations use: `hint=FILE` is PROPERTY_HINT_FILE.
_HINTS = (
    "FILE",
    "DIR",
    "GLOBAL_FILE",
    "GLOBAL_DIR",
    "RANGE",
    "ENUM",
    "MULTILINE_TEXT",
    "PLACEHOLDER_TEXT",
)


def __getattr__(name: str) -> Any:
    if name not in _MODULES and not name[0].isupper():  # a submodule that is about to be imported
        raise AttributeError(f"module 'godot' has no attribute '{name}'")
    import importlib

    if name in _MODULES:
        value = getattr(importlib.import_module(f"godot.{_MODULES[name]}"), name)
    elif name in _HINTS:
        value = importlib.import_module("godot.api").constant(f"PROPERTY_HINT_{name}")
    else:
        value = importlib.import_module("godot.classes").lookup(name)
    globals()[name] = value
    return value
