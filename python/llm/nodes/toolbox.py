"""A node's tools: methods of the game that a model may have called, on the main thread."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from godot import Expression
from llm.errors import RequestError
from llm.generate.tools import Tool

Returned = Callable[[Any], None]

# Variant.Type -> what a JSON schema says of it, and what makes it of JSON's kinds
_TYPES: dict[int, tuple[dict[str, Any], str]] = {
    1: ({"type": "boolean"}, "{0}"),
    2: ({"type": "integer"}, "{0}"),
    3: ({"type": "number"}, "{0}"),
    4: ({"type": "string"}, "{0}"),
    21: ({"type": "string"}, "StringName({0})"),
    27: ({"type": "object"}, "{0}"),
    28: ({"type": "array"}, "{0}"),
    30: ({"type": "array", "items": {"type": "integer"}}, "PackedInt32Array({0})"),
    31: ({"type": "array", "items": {"type": "integer"}}, "PackedInt64Array({0})"),
    32: ({"type": "array", "items": {"type": "number"}}, "PackedFloat32Array({0})"),
    33: ({"type": "array", "items": {"type": "number"}}, "PackedFloat64Array({0})"),
    34: ({"type": "array", "items": {"type": "string"}}, "PackedStringArray({0})"),
}
_ITEM_TYPES = {"bool": 1, "int": 2, "float": 3, "String": 4, "Dictionary": 27}
_ARRAY_TYPE = 31  # PropertyHint: the hint string names what an array holds

COROUTINE = "GDScriptFunctionState"  # what calling one gives


@dataclass(frozen=True, slots=True)
class Method:
    """A callable; `arguments` are expressions of the engine's, that make what it takes of what a
    tool gives, in which {0} stands for that. Without them it takes all as it is."""

    callable: Any
    arguments: tuple[str, ...] = ()

    def call(self, values: list[Any]) -> Any:
        """In the engine, as Python has neither its typed arrays nor all of its packed ones."""
        names = [f"v{place}" for place in range(len(values))]
        forms = self.arguments or ("{0}",) * len(values)
        made = ", ".join(form.format(name) for form, name in zip(forms, names, strict=False))
        expression = Expression()
        expression.parse(f"method.callv([{made}])", ["method", *names])
        return expression.execute([self.callable, *values])


class Toolbox:
    """The methods, by the name of their tool, in the order in which they were added."""

    def __init__(self) -> None:
        self._methods: dict[str, Method] = {}
        self._tools: dict[str, Tool] = {}

    @property
    def tools(self) -> tuple[Tool, ...]:
        return tuple(self._tools.values())

    def add(self, method: Method, tool: Tool) -> None:
        """In the place of one of the same name."""
        self._methods[tool.name] = method
        self._tools[tool.name] = tool

    def remove(self, name: str) -> None:
        """RequestError where there is none."""
        if name not in self._tools:
            known = ", ".join(self._tools) or "none"
            raise RequestError(f"there is no tool {name}; there are {known}")
        del self._tools[name], self._methods[name]

    def call(self, name: str, arguments: list[Any], returned: Returned) -> None:
        """`returned` gets the result, at once or when a coroutine ends.

        Raises RequestError, with words for the model, where there is nobody to call any more.
        """
        method = self._methods.get(name)
        if method is None or not method.callable.is_valid():
            raise RequestError(f"{name} is not there any more")
        result = method.call(arguments)
        if getattr(result, "get_class", None) is not None and result.get_class() == COROUTINE:
            result.connect("completed", returned)
        else:
            returned(result)


def method_tool(callable: Any, description: str) -> tuple[Method, Tool]:
    """A typed method, and what its own declaration says of it.

    Raises RequestError where the callable is no method of a script, or an argument has no type.
    """
    owner = callable.get_object() if callable.is_valid() else None
    name = callable.get_method() if owner is not None else ""
    declared = next((found for found in _methods(owner) if found["name"] == name), None)
    if declared is None:
        raise RequestError(
            "add_tool takes a method of an object, such as get_stock; of a lambda the engine knows "
            "no argument types, so give it to add_tool_with_schema"
        )
    arguments = declared["args"]
    defaults = declared["default_args"]
    optional = arguments[len(arguments) - len(defaults) :]
    types = {argument["name"]: _type(name, argument) for argument in arguments}
    properties = {argument: schema for argument, (schema, _) in types.items()}
    tool = Tool(
        name,
        description,
        {
            "type": "object",
            "properties": properties,
            "required": [each["name"] for each in arguments if each not in optional],
        },
        {each["name"]: default for each, default in zip(optional, defaults, strict=True)},
    )
    return Method(callable, tuple(form for _, form in types.values())), tool


def _methods(owner: Any) -> list[Mapping[str, Any]]:
    return [] if owner is None else list(owner.get_method_list())


def _type(method: str, argument: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Its schema, and the expression that makes it."""
    found = _TYPES.get(argument["type"])
    if found is None:
        kinds = "bool, int, float, String, Array, Dictionary or a packed array"
        raise RequestError(
            f"add_tool: argument {argument['name']} of {method} must be declared as {kinds}"
        )
    schema, form = found
    item = _ITEM_TYPES.get(argument["hint_string"]) if argument["hint"] == _ARRAY_TYPE else None
    if item is not None:
        items, _ = _TYPES[item]
        return {**schema, "items": dict(items)}, f'Array({{0}}, {item}, "", null)'
    return dict(schema), form
