"""Reads the calls of tools that a model wrote, in any of the forms that families use.

The form shows in the text itself, so there is one reader: models mix the forms of their training.
Numbers, names and texts come out as they were written.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from llm.text.json_values import held
from llm.text.literals import LiteralReader
from llm.text.surrogates import values_without_surrogates, without_surrogates


@dataclass(frozen=True, slots=True)
class ToolCall:
    name: str
    arguments: dict[str, Any]
    raw: str  # as the model wrote it


_NAME_KEYS = ("name", "tool_name")
_ARGUMENT_KEYS = ("arguments", "parameters", "args")

_FUNCTION = re.compile(r"<function=([^>\n]*)>(.*?)(?=</function>|<function=|\Z)", re.DOTALL)
_PARAMETER = re.compile(
    r"<parameter=([^>\n]*)>(.*?)(?=</parameter>|<parameter=|</function>|\Z)", re.DOTALL
)
_ARGUMENT = re.compile(
    r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)(?=</arg_value>|<arg_key>|\Z)", re.DOTALL
)
_MISTRAL = re.compile(r"(?:\[TOOL_CALLS\])?\s*([\w.\-]+)\s*(?:\[CALL_ID\][^\[{]*)?(?:\[ARGS\])?\s*")
_DEEPSEEK_CALL = re.compile(r"<｜tool▁call▁(?:begin|end)｜>")  # noqa: RUF001
_DEEPSEEK_NAME = "<｜tool▁sep｜>"  # noqa: RUF001
_FENCE = re.compile(r"^```(?:json)?\s*|\s*```$")

_DECODER = json.JSONDecoder(parse_constant=lambda name: _refuse(f"{name} is no JSON"))


def read_calls(body: str, raw: str) -> list[ToolCall]:
    """The calls in `body`, which stood between the markers of a call; one at least.

    Raises ValueError, with words for the model, where they cannot be read.
    """
    try:
        found = list(_calls(body.strip()))
    except RecursionError:
        _refuse("its arguments are nested too deep")
    if not found:
        _refuse("it names no tool")
    return [
        ToolCall(without_surrogates(name), held(values_without_surrogates(arguments)), raw)
        for name, arguments in found
    ]


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments of a call whose tool is named elsewhere; raises as `read_calls`."""
    try:
        arguments: dict[str, Any] = held(values_without_surrogates(_arguments(text)))
    except RecursionError:
        _refuse("its arguments are nested too deep")
    return arguments


def _calls(body: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if _DEEPSEEK_NAME in body:
        yield from _deepseek(body)
    elif body.startswith("<function="):
        yield from _tagged(body)
    elif "<arg_key>" in body:
        yield _arg_keys(body)
    elif body.startswith("{") or re.match(r"\[\s*(?:[{\]]|$)", body):
        for value in _json_values(body):
            for call in value if isinstance(value, list) else [value]:
                yield _named(call)
    elif body.startswith(("[", "call:")) or re.match(r"[\w.]+\(", body):
        yield from LiteralReader(body).calls()
    else:
        yield from _mistral(body)


def _json_values(text: str) -> Iterator[Any]:
    """JSON values one after another, with nothing, a comma or a semicolon between them."""
    place = 0
    while place < len(text):
        value, place = _DECODER.raw_decode(text, place)
        yield value
        while place < len(text) and text[place] in " \t\r\n,;":
            place += 1


def _named(call: Any) -> tuple[str, dict[str, Any]]:
    """Name and arguments of a call that is a JSON object."""
    if isinstance(call, dict) and isinstance(call.get("function"), dict):
        call = call["function"]
    if not isinstance(call, dict):
        _refuse("it is no JSON object with name and arguments")
    name = next((call[key] for key in _NAME_KEYS if key in call), None)
    if not isinstance(name, str) or not name:
        _refuse("it names no tool")
    return name, _arguments(next((call[key] for key in _ARGUMENT_KEYS if key in call), {}))


def _arguments(value: Any) -> dict[str, Any]:
    if isinstance(value, str):  # JSON within JSON
        value = _json_object(value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        _refuse("its arguments are no JSON object")
    return value


def _json_object(text: str) -> Any:
    text = _FENCE.sub("", text.strip())
    return _DECODER.decode(text) if text else {}


def _deepseek(body: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """`name sep JSON`, or `function sep name` and the JSON in a fenced block below."""
    for part in _DEEPSEEK_CALL.split(body):
        if not part.strip():
            continue
        before, _, after = part.partition(_DEEPSEEK_NAME)
        name, fence, arguments = after.partition("```")
        if fence:
            yield name.strip(), _arguments(fence + arguments)
        else:
            yield before.strip(), _arguments(after)


def _mistral(body: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """`name[ARGS]{…}`, one after another; with or without the markers in between."""
    place = 0
    while place < len(body):
        found = _MISTRAL.match(body, place)
        if found is None:
            _refuse("it is not the name of a tool and a JSON object")
        if found.end() == len(body):
            yield found[1], {}
            return
        arguments, place = _DECODER.raw_decode(body, found.end())
        yield found[1], _arguments(arguments)
        while place < len(body) and body[place].isspace():
            place += 1


def _tagged(body: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, inner in _FUNCTION.findall(body):
        if inner.lstrip().startswith("{"):
            yield name.strip(), _arguments(inner)
        else:
            yield name.strip(), {key: _value(value) for key, value in _PARAMETER.findall(inner)}


def _arg_keys(body: str) -> tuple[str, dict[str, Any]]:
    name = body[: body.index("<arg_key>")].strip()
    return name, {key.strip(): _value(value) for key, value in _ARGUMENT.findall(body)}


def _value(text: str) -> Any:
    """What stands in a tag: a number, list or the like if it reads as such, else a text."""
    text = text.removeprefix("\n").removesuffix("\n")
    try:
        value = _DECODER.decode(text)
    except ValueError:
        return text
    return text if isinstance(value, str) else value


def _refuse(problem: str) -> NoReturn:
    raise ValueError(problem)
