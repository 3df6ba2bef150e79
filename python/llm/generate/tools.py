"""Functions that a model may have called: what it is told of them, and what it gives them.

Plain values, no engine: the functions themselves are the node's.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llm.errors import RequestError

# What a value must be for each JSON type, and how it may be made to fit.
_TYPES = ("boolean", "integer", "number", "string", "array", "object")


@dataclass(frozen=True, slots=True)
class Tool:
    """`parameters` is a JSON schema of type object; its properties stand in the order in which the
    function takes them. `defaults` are those of the last ones, where it has some that it knows
    itself; None is one that only it knows.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name:
            raise RequestError("a tool needs a name")
        properties = self.parameters.get("properties", {})
        if self.parameters.get("type") != "object" or not isinstance(properties, Mapping):
            raise RequestError(
                f"tool {self.name}: its schema must have type object, and properties"
            )

    def schema(self) -> dict[str, Any]:
        """As chat templates take it."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        return {"type": "function", "function": function}

    def arguments(self, given: Mapping[str, Any]) -> list[Any]:
        """What the function is called with, in order.

        Raises RequestError, with words for the model, where something is missing, too much, or of
        another type.
        """
        properties: Mapping[str, Any] = self.parameters.get("properties", {})
        unknown = [name for name in given if name not in properties]
        if unknown:
            known = ", ".join(properties) or "none"
            raise RequestError(f"{self.name} has no argument {unknown[0]}; it takes {known}")
        needed = list(properties)
        while needed and needed[-1] in self.defaults and needed[-1] not in given:
            needed.pop()
        return [self._argument(name, properties[name], given) for name in needed]

    def _argument(self, name: str, schema: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
        if name in given:
            return _fit(given[name], schema, f"{self.name}: {name}")
        default = self.defaults.get(name)
        if default is None and (
            name in self.defaults or name in self.parameters.get("required", [])
        ):
            raise RequestError(f"{self.name} lacks its argument {name}")
        return default


def tool_named(tools: Sequence[Tool], name: str) -> Tool:
    """Raises RequestError, with words for the model."""
    for tool in tools:
        if tool.name == name:
            return tool
    known = ", ".join(tool.name for tool in tools)
    raise RequestError(f"there is no tool {name}; there are {known}")


def result_text(value: Any) -> str:
    """What a function returned, as the model reads it: text as it is, the rest as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _fit(value: Any, schema: Mapping[str, Any], what: str) -> Any:
    """The value by its declared type; models write "3" or 3.0 where they mean 3."""
    kind = schema.get("type")
    fitted = _fit_type(value, kind, schema, what) if kind in _TYPES else value
    options = schema.get("enum")
    if options is not None and fitted not in options:
        known = ", ".join(json.dumps(option, ensure_ascii=False) for option in options)
        raise RequestError(f"{what} is {json.dumps(value, default=str)}; it must be one of {known}")
    return fitted


def _fit_type(value: Any, kind: Any, schema: Mapping[str, Any], what: str) -> Any:
    if kind == "string" and isinstance(value, str):
        return value
    if kind == "boolean" and isinstance(value, bool):
        return value
    if kind == "boolean" and value in ("true", "false"):
        return value == "true"
    if kind in ("integer", "number"):
        number = _number(value)
        if number is not None and kind == "number":
            return float(number)
        if number is not None and number == int(number) and -(2**63) <= number < 2**63:
            return int(number)
    if kind == "array" and isinstance(value, list):
        items = schema.get("items", {})
        return [_fit(each, items, f"{what}[{index}]") for index, each in enumerate(value)]
    if kind == "object" and isinstance(value, Mapping):
        return dict(value)
    shown = json.dumps(value, ensure_ascii=False, default=str)
    raise RequestError(f"{what} is {shown}; it must be of type {kind}")


def _number(value: Any) -> int | float | None:
    """Finite ones only."""
    if isinstance(value, str):
        for read in (int, float):
            try:
                return _number(read(value))
            except ValueError:
                continue
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None
