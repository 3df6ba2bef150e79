"""What an exposed class declares: properties, signals, and methods by their annotations."""

from __future__ import annotations

from . import api
from .interface import OBJECT, TYPES
from .packed import PackedByteArray, PackedFloat32Array, PackedInt32Array
from .signals import SignalOfClass
from .variant import NIL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable as Function
    from typing import Any

# Names in annotations -> names in extension_api.json. Engine classes go by their own.
_PYTHON_NAMES = {
    "None": "",
    "NoneType": "",
    "str": "String",
    "list": "Array",
    "tuple": "Array",
    "dict": "Dictionary",
    "bytes": "PackedByteArray",
    "bytearray": "PackedByteArray",
    "BoundSignal": "Signal",
}

HAS_EXTRA_ARGUMENTS = 0x04 | 0x08  # CO_VARARGS | CO_VARKEYWORDS


class Type:
    """A declared type: what the engine is told, and how a given value is made to fit it."""

    __slots__ = ("class_name", "is_reference", "is_variant", "kind", "name")

    def __init__(self, declared: Any) -> None:
        if declared is None:
            text = "None"
        elif isinstance(declared, str):
            text = declared
        else:
            text = getattr(declared, "__name__", "Any")
        text = text.strip().strip("\"'").partition("[")[0].rpartition(".")[2]
        if "|" in text:
            options = [part.strip() for part in text.split("|") if part.strip() != "None"]
            text = options[0] if len(options) == 1 and api.has_class(options[0]) else "Any"
        name = _PYTHON_NAMES.get(text, text)
        self.name = name
        self.class_name = ""
        self.is_variant = False
        self.is_reference = False
        if name in TYPES:
            self.kind = TYPES[name]
        elif api.has_class(name) or name in exposed_parents:
            self.kind = OBJECT
            self.class_name = name
            self.is_reference = api.is_ref_counted(exposed_parents.get(name, name))
        else:
            self.kind = NIL
            self.is_variant = True

    @property
    def is_nothing(self) -> bool:
        """Whether this is the result of a method that returns nothing."""
        return self.kind == NIL and not self.is_variant

    def fit(self, value: Any) -> Any:
        """`value` as the declared type has it; raises TypeError where it does not fit."""
        if self.class_name:
            return _fit_object(value, self.class_name)
        convert = _FIT.get(self.name)
        return value if convert is None else convert(value)

    @property
    def is_resource(self) -> bool:
        """Whether this is the engine's class Resource, or inherits it."""
        name = exposed_parents.get(self.class_name, self.class_name)
        while name not in ("", "Resource"):
            name = api.parent_of(name)
        return name == "Resource"


# The engine's classes that those exposed so far inherit, so that annotations may name them.
exposed_parents: dict[str, str] = {}


def _fit_object(value: Any, class_name: str) -> Any:
    from .classes import engine_class

    if value is None or isinstance(value, engine_class(class_name)):
        return value
    raise TypeError(f"expected {class_name} or None, found {type(value).__name__}")


def _fit_int(value: Any) -> int:
    if isinstance(value, (int, float)):
        return int(value)
    raise TypeError(f"expected int, found {type(value).__name__}")


def _fit_float(value: Any) -> float:
    if isinstance(value, (int, float)):
        return float(value)
    raise TypeError(f"expected float, found {type(value).__name__}")


def _fit_str(value: Any) -> str:
    if isinstance(value, str):
        return value if type(value) is str else str(value)
    raise TypeError(f"expected str, found {type(value).__name__}")


def _fit_bool(value: Any) -> bool:
    if isinstance(value, (bool, int, float)):
        return bool(value)
    raise TypeError(f"expected bool, found {type(value).__name__}")


def _fit_list(value: Any) -> list[Any]:
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        raise TypeError(f"expected list, found {type(value).__name__}")
    return value if isinstance(value, list) else list(value)


def _fit_dict(value: Any) -> dict[Any, Any]:
    if isinstance(value, dict):
        return value
    raise TypeError(f"expected dict, found {type(value).__name__}")


_FIT: dict[str, Function[[Any], Any]] = {
    "int": _fit_int,
    "float": _fit_float,
    "String": _fit_str,
    "bool": _fit_bool,
    "Array": _fit_list,
    "PackedStringArray": _fit_list,
    "Dictionary": _fit_dict,
    "PackedByteArray": PackedByteArray.of,
    "PackedInt32Array": PackedInt32Array.of,
    "PackedFloat32Array": PackedFloat32Array.of,
}

_EMPTY: dict[str, Any] = {
    "int": 0,
    "float": 0.0,
    "String": "",
    "bool": False,
    "Array": [],
    "PackedStringArray": [],
    "Dictionary": {},
    "PackedByteArray": b"",
    "PackedInt32Array": [],
    "PackedFloat32Array": [],
}


class export:  # noqa: N801 (reads as a declaration, in godot-python's own spelling)
    """A property that the inspector shows and scenes save; a descriptor with one value an instance.

    Of an engine class, the value is an object of it or None. Neighbours with the same `group` stand
    under that heading in the inspector.

    temperature = export(float, default=0.8, hint=RANGE, hint_string="0,2,0.05", doc="…")

    @temperature.setter
    def temperature(self, value: float) -> float:
        return max(0.0, value)  # what is stored
    """

    def __init__(
        self,
        type: Any,
        default: Any = None,
        *,
        hint: int = 0,
        hint_string: str = "",
        doc: str = "",
        group: str = "",
    ) -> None:
        self.type = Type(type)
        self.default = _EMPTY.get(self.type.name) if default is None else default
        self.hint = hint
        self.hint_string = hint_string
        if self.type.is_resource and not hint:
            self.hint = api.constant("PROPERTY_HINT_RESOURCE_TYPE")
            self.hint_string = self.type.class_name
        self.doc = doc
        self.group = group
        self.name = ""
        self._change: Function[[Any, Any], Any] | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def setter(self, function: Function[[Any, Any], Any]) -> Any:
        """`function(self, value)` returns what is stored whenever the property is set."""
        self._change = function
        return self

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        values = instance.__dict__
        if self.name not in values:
            default = self.default
            values[self.name] = default.copy() if isinstance(default, (list, dict)) else default
        return values[self.name]

    def __set__(self, instance: Any, value: Any) -> None:
        value = self.type.fit(value)
        instance.__dict__[self.name] = (
            value if self._change is None else self._change(instance, value)
        )


class signal(SignalOfClass):  # noqa: N801 (as above)
    """A signal: `signal(id=int, text=str, doc="…")`, or by names alone `signal("text")`."""

    __slots__ = ("arguments", "doc")

    def __init__(self, *names: str, doc: str = "", **types: Any) -> None:
        super().__init__("")
        self.doc = doc
        self.arguments = [(name, Type("Any")) for name in names]
        self.arguments += [(name, Type(declared)) for name, declared in types.items()]

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class Method:
    """A method that the engine may call."""

    __slots__ = (
        "arguments",
        "defaults",
        "doc",
        "function",
        "is_static",
        "name",
        "required",
        "result",
        "where",
    )

    def __init__(
        self,
        where: str,
        function: Any,
        arguments: list[tuple[str, Type]],
        result: Type,
        defaults: tuple[Any, ...] = (),
        is_static: bool = False,
    ) -> None:
        """`where` is "Class.method"; `defaults` belong to the last arguments."""
        self.where = where
        self.name = where.rpartition(".")[2]
        self.function = function
        self.arguments = arguments
        self.result = result
        self.is_static = is_static
        self.defaults = defaults
        self.required = len(arguments) - len(defaults)
        self.doc = getattr(function, "__doc__", None) or ""

    @classmethod
    def from_function(cls, class_name: str, name: str, function: Any) -> Method:
        """Arguments and result by the function's annotations; what has none takes any type."""
        is_static = isinstance(function, staticmethod)
        if is_static:
            function = function.__func__
        code = function.__code__
        annotations = function.__annotations__
        names = code.co_varnames[0 if is_static else 1 : code.co_argcount]
        return cls(
            f"{class_name}.{name}",
            function,
            [(argument, Type(annotations.get(argument, "Any"))) for argument in names],
            Type(annotations.get("return", "None")),
            function.__defaults__ or (),
            is_static,
        )


def declared_by(
    cls: type, plain_bases: list[type]
) -> tuple[list[export], list[signal], list[Method]]:
    """What `cls` and its plain bases declare, in that order; whoever is first has a name.

    Methods are the public ones with annotations and without * or ** parameters.
    """
    members: dict[str, Any] = {}
    for owner in (cls, *plain_bases):
        for name, value in owner.__dict__.items():
            members.setdefault(name, value)
    return (
        [value for value in members.values() if isinstance(value, export)],
        [value for value in members.values() if isinstance(value, signal)],
        [
            Method.from_function(cls.__name__, name, value)
            for name, value in members.items()
            if not name.startswith("_") and _is_method(value)
        ],
    )


def _is_method(value: Any) -> bool:
    function = value.__func__ if isinstance(value, staticmethod) else value
    return (
        type(function) is type(_is_method)
        and bool(function.__annotations__)
        and not function.__code__.co_flags & HAS_EXTRA_ARGUMENTS
    )
