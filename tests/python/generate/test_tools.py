"""What a tool tells a model, and what it takes from one."""

from typing import Any

import pytest

from llm.errors import RequestError
from llm.generate.tools import Tool, result_text, tool_named

SELL = Tool(
    "sell",
    "Sells an item.",
    {
        "type": "object",
        "properties": {
            "item": {"type": "string"},
            "count": {"type": "integer"},
            "__price": {"type": "number"},
            "gift": {"type": "boolean"},
            "to": {"type": "array", "items": {"type": "integer"}},
            "_extra": {"type": "object"},
            "mood": {"enum": ["kind", "grim"]},
            "any": {},
        },
        "required": ["item"],
    },
    {
        "count": 1,
        "__price": 2.5,
        "gift": False,
        "to": [],
        "_extra": {},
        "mood": "kind",
        "any": None,
    },
)


def values(**given: Any) -> dict[str, Any]:
    found = SELL.arguments({"item": "sword", **given})
    return dict(zip(SELL.parameters["properties"], found, strict=False))


def test_what_is_left_out_at_the_end_is_the_functions_affair() -> None:
    assert SELL.arguments({"item": "sword"}) == ["sword"]
    assert SELL.arguments({"item": "sword", "gift": True}) == ["sword", 1, 2.5, True]


def test_what_has_no_default_is_null() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}}
    assert Tool("add", "", schema).arguments({"b": 2}) == [None, 2]


def test_a_default_that_only_the_function_knows() -> None:
    properties = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    tool = Tool("add", "", {"type": "object", "properties": properties}, {"a": None, "b": None})
    assert tool.arguments({"a": 3}) == [3]
    with pytest.raises(RequestError, match="add lacks its argument a"):
        tool.arguments({"b": 3})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"count": 3}, 3),
        ({"count": 3.0}, 3),
        ({"count": "3"}, 3),
        ({"count": -(2**62) - 1}, -(2**62) - 1),
        ({"count": str(2**62 + 1)}, 2**62 + 1),
        ({"__price": 3}, 3.0),
        ({"__price": "1e2"}, 100.0),
        ({"gift": True}, True),
        ({"gift": "false"}, False),
        ({"to": [1, 2.0, "3"]}, [1, 2, 3]),
        ({"_extra": {"a": [1]}}, {"a": [1]}),
        ({"mood": "grim"}, "grim"),
        ({"any": [None]}, [None]),
    ],
)
def test_values_by_their_type(given: dict[str, Any], expected: Any) -> None:
    [name] = given
    found = values(**given)[name]
    assert repr(found) == repr(expected), "an int is an int"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"count": 1.5}, "sell: count is 1.5; it must be of type integer"),
        ({"count": True}, "sell: count is true; it must be of type integer"),
        ({"count": "three"}, 'sell: count is "three"; it must be of type integer'),
        ({"count": float("inf")}, "it must be of type integer"),
        ({"count": "1e999"}, "it must be of type integer"),
        ({"count": 2**63}, "it must be of type integer"),
        ({"count": -1e30}, "it must be of type integer"),
        ({"count": None}, "sell: count is null"),
        ({"__price": []}, "sell: __price is \\[\\]; it must be of type number"),
        ({"gift": 1}, "sell: gift is 1; it must be of type boolean"),
        ({"to": [1, "b"]}, 'sell: to\\[1\\] is "b"'),
        ({"to": 1}, "it must be of type array"),
        ({"_extra": 1}, "it must be of type object"),
        ({"item": 4}, "it must be of type string"),
        ({"mood": "odd"}, 'sell: mood is "odd"; it must be one of "kind", "grim"'),
        ({"colour": 1}, "sell has no argument colour; it takes item, count"),
    ],
)
def test_what_does_not_fit(given: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        values(**given)


def test_what_is_missing() -> None:
    with pytest.raises(RequestError, match="sell lacks its argument item"):
        SELL.arguments({"count": 1})


def test_names() -> None:
    assert tool_named([SELL], "sell") is SELL
    with pytest.raises(RequestError, match="there is no tool buy; there are sell"):
        tool_named([SELL], "buy")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({}, "must have type object"), ({"type": "object", "properties": 3}, "properties")],
)
def test_a_wrong_schema(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        Tool("odd", "", parameters)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (3, "3"),
        (None, "null"),
        ({"gold": 3, "é": [1.5, True]}, '{"gold": 3, "é": [1.5, true]}'),
    ],
)
def test_results(value: Any, text: str) -> None:
    assert result_text(value) == text
