"""Readies a JSON schema for llguidance, and refuses what an answer would not be held to.

The library knows Draft 2020-12 and older ones. What it knows and cannot do it refuses itself; what
it does not know it leaves out without a word, and that is refused here. Names that a schema does
not list may come twice in an object; as in any JSON reader, the last one counts.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from llm.errors import RequestError

ONE_SCHEMA = ("items", "additionalItems", "additionalProperties")
SCHEMAS = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
NAMED_SCHEMAS = ("properties", "patternProperties", "$defs", "definitions")
VALUES = ("enum", "const")
LIMITS = (
    *("$ref", "type", "required", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("minLength", "maxLength", "pattern", "format"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
)
NOTES = (  # say nothing of what is valid
    *("$schema", "$id", "id", "$anchor", "$comment", "title", "description", "default"),
    *("examples", "deprecated", "readOnly", "writeOnly", "contentMediaType", "contentEncoding"),
)
KNOWN = frozenset((*ONE_SCHEMA, *SCHEMAS, *NAMED_SCHEMAS, *VALUES, *LIMITS, *NOTES))
OWN = "x-"  # begins names of an author's own; the library would take options from one

LARGEST = 2**53 - 1  # JSON readers make doubles, which hold all whole numbers up to here
STEP = 1e-6


def ready_schema(schema: Any, path: str = "#") -> Any:
    """A copy in which numbers have limits and a step. RequestError names what is not kept."""
    if not isinstance(schema, Mapping):
        return schema  # true, false, or what the library names
    found: dict[str, Any] = {}
    for key, value in schema.items():
        at = f"{path}/{key}"
        if key.startswith(OWN):
            continue
        if key not in KNOWN:
            raise RequestError(
                f"json_schema: {at} is nothing that an answer can be held to; leave it out, or "
                f"begin its name with {OWN}"
            )
        if key in VALUES:
            _check_values(value, at)
        found[key] = _ready_value(key, value, at)
    _check_names(found, path)
    return _with_limits(found)


def _ready_value(key: str, value: Any, path: str) -> Any:
    if key in NAMED_SCHEMAS and isinstance(value, Mapping):
        return {name: ready_schema(each, f"{path}/{name}") for name, each in value.items()}
    if key in SCHEMAS and isinstance(value, list):
        return [ready_schema(each, f"{path}/{index}") for index, each in enumerate(value)]
    return ready_schema(value, path) if key in ONE_SCHEMA else value


def _check_values(values: Any, path: str) -> None:
    """Escapes by number are off: with them a listed name could be spelt in a second way."""
    for text in _texts(values):
        code = next((ord(char) for char in text if _needs_number(char)), None)
        if code is not None:
            raise RequestError(
                f"json_schema: {path} has the control character U+{code:04X}, which no answer has"
            )


def _needs_number(char: str) -> bool:
    return (char < " " and char not in "\b\t\n\f\r") or char == "\x7f"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield name
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _check_names(schema: dict[str, Any], path: str) -> None:
    """One name that is not required is sure to differ from those that are; two may be the same."""
    least, required = schema.get("minProperties", 0), schema.get("required", [])
    if isinstance(least, int) and isinstance(required, list) and least > len(required) + 1:
        raise RequestError(
            f"json_schema: {path}/minProperties is {least} and {len(required)} names are required; "
            f"it can be at most {len(required) + 1}, as other names may come twice"
        )


def _with_limits(schema: dict[str, Any]) -> dict[str, Any]:
    """Numbers between -LARGEST and LARGEST, of whole STEPs, where the schema does not say: none of
    a hundred digits, which a model may go on with for ever, and no 1e999, which is infinite."""
    types = schema.get("type")
    names = set(map(str, types if isinstance(types, list) else [types]))
    if not {"integer", "number"} & names or set(VALUES) & schema.keys():
        return schema
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    if "number" in names and _is_coarse(low) and _is_coarse(high):
        schema.setdefault("multipleOf", STEP)
    if low is None and (high is None or _is_below(-LARGEST, high)):
        schema["minimum"] = -LARGEST
    if high is None and (low is None or _is_below(low, LARGEST)):
        schema["maximum"] = LARGEST
    return schema


def _is_coarse(limit: Any) -> bool:
    is_number = isinstance(limit, int | float)
    return limit is None or (is_number and Decimal(str(limit)) % Decimal(str(STEP)) == 0)


def _is_below(low: Any, high: Any) -> bool:
    numbers = (int, float)
    return isinstance(low, numbers) and isinstance(high, numbers) and low < high
