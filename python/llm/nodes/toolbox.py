"""A node's tools: methods of the game that a model may have called, on the main thread."""

from collections.abc import Callable, Mapping
from typing import Any

from llm.errors import RequestError
from llm.generate.tools import Tool

Returned = Callable[[Any], None]

# Variant.Type -> what a JSON schema says of it
_SCHEMAS: dict[int, dict[str, Any]] = {
    1: {"type": "boolean"},
    2: {"type": "integer"},
    3: {"type": "number"},
    4: {"type": "string"},
    21: {"type": "string"},  # StringName
    27: {"type": "object"},
    28: {"type": "array"},
    30: {"type": "array", "items": {"type": "integer"}},  # PackedInt32Array
    31: {"type": "array", "items": {"type": "integer"}},
    32: {"type": "array", "items": {"type": "number"}},  # PackedFloat32Array
    33: {"type": "array", "items": {"type": "number"}},
    34: {"type": "array", "items": {"type": "string"}},  # PackedStringArray
}
_TYPE_NAMES = {"bool": 1, "int": 2, "float": 3, "String": 4, "StringName": 21, "Dictionary": 27}
_ARRAY_TYPE = 31  # PropertyHint: the hint string names what an array holds

COROUTINE = "GDScriptFunctionState"  # what calling one gives


class Toolbox:
    """The callables, by the name of their tool, in the order in which they were added."""

    def __init__(self) -> None:
        self._callables: dict[str, Any] = {}
        self._tools: dict[str, Tool] = {}

    @property
    def tools(self) -> tuple[Tool, ...]:
        return tuple(self._tools.values())

    def add(self, callable: Any, tool: Tool) -> None:
        """In the place of one of the same name."""
        self._callables[tool.name] = callable
        self._tools[tool.name] = tool

    def remove(self, name: str) -> None:
        """RequestError where there is none."""
        if name not in self._tools:
            known = ", ".join(self._tools) or "none"
            raise RequestError(f"there is no tool {name}; there are {known}")
        del self._tools[name], self._callables[name]

    def call(self, name: str, arguments: list[Any], returned: Returned) -> None:
        """`returned` gets the result, at once or when a coroutine ends.

        Raises RequestError, with words for the model, where there is nobody to call any more.
        """
        callable = self._callables.get(name)
        if callable is None or not callable.is_valid():
            raise RequestError(f"{name} is not there any more")
        result = callable(*arguments)
        if getattr(result, "get_class", None) is not None and result.get_class() == COROUTINE:
            result.connect("completed", returned)
        else:
            returned(result)


def method_tool(callable: Any, description: str) -> Tool:
    """What a typed method's own declaration says of it.

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
    properties = {argument["name"]: _schema(name, argument) for argument in arguments}
    return Tool(
        name,
        description,
        {
            "type": "object",
            "properties": properties,
            "required": [each["name"] for each in arguments if each not in optional],
        },
        {each["name"]: default for each, default in zip(optional, defaults, strict=True)},
    )


def _methods(owner: Any) -> list[Mapping[str, Any]]:
    return [] if owner is None else list(owner.get_method_list())


def _schema(method: str, argument: Mapping[str, Any]) -> dict[str, Any]:
    found = _SCHEMAS.get(argument["type"])
    if found is None:
        kinds = "bool, int, float, String, Array, Dictionary or a packed array"
        raise RequestError(
            f"add_tool: argument {argument['name']} of {method} must be declared as {kinds}"
        )
    if argument.get("hint") == _ARRAY_TYPE and argument["hint_string"] in _TYPE_NAMES:
        items = _SCHEMAS[_TYPE_NAMES[argument["hint_string"]]]
        return {**found, "items": dict(items)}
    return dict(found)
