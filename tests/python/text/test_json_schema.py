"""Schemas as they come, and what no answer could be held to."""

from typing import Any

import pytest

from llm.errors import RequestError
from llm.text.answer_format import AnswerFormat
from llm.text.json_schema import LARGEST, STEP, ready_schema

LIMITS = {"minimum": -LARGEST, "maximum": LARGEST}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"not": {"const": {"not": 1}}, "uniqueItems": True}, "required": ["not"]},
        {"enum": [{"whatever": [1, {"if": 2}]}], "default": {"if": 1}, "examples": [{"x": 1}]},
        {"$defs": {"then": {"title": "T"}}, "$ref": "#/$defs/then", "description": "d"},
        {"properties": {"x-y": {"type": "null"}}, "patternProperties": {"not": True}},
        {"items": False, "prefixItems": [True, {"type": "string"}]},
        {"minProperties": 2, "required": ["a"]},
        {"items": [{"type": "string"}], "additionalItems": {"type": "null"}},
    ],
)
def test_what_is_known_stays_as_it_is(schema: dict[str, Any]) -> None:
    assert ready_schema(schema) == schema


@pytest.mark.parametrize(
    "keyword",
    [
        *("not", "if", "then", "else", "uniqueItems", "contains", "minContains", "propertyNames"),
        *("dependentRequired", "dependentSchemas", "unevaluatedProperties", "$dynamicRef"),
        *("maxlength", "min_length", "requiredd", "nullable", "Type", ""),
    ],
)
@pytest.mark.parametrize(
    ("path", "around"),
    [
        ("#", lambda schema: schema),
        ("#/properties/a/items", lambda schema: {"properties": {"a": {"items": schema}}}),
        ("#/anyOf/1", lambda schema: {"anyOf": [{}, schema]}),
        ("#/$defs/b/prefixItems/0", lambda schema: {"$defs": {"b": {"prefixItems": [schema]}}}),
        ("#/items/0", lambda schema: {"items": [schema]}),
        ("#/patternProperties/^a", lambda schema: {"patternProperties": {"^a": schema}}),
    ],
)
def test_what_is_not_kept_is_refused_with_its_place(keyword: str, path: str, around: Any) -> None:
    with pytest.raises(RequestError) as caught:
        AnswerFormat.json_schema(around({keyword: True}))
    assert f"json_schema: {path}/{keyword} is nothing" in str(caught.value)


def test_names_of_an_author_are_left_out() -> None:
    own = {"x-guidance": {"lenient": True}, "x-icon": "sword.png"}
    found = ready_schema({"type": "string", **own, "allOf": [{"x-note": 1}]})
    assert found == {"type": "string", "allOf": [{}]}


@pytest.mark.parametrize(
    ("schema", "added"),
    [
        ({"type": "integer"}, LIMITS),
        ({"type": ["number", "null"]}, {**LIMITS, "multipleOf": STEP}),
        ({"type": "number", "multipleOf": 1e-9}, LIMITS),
        ({"type": "number", "minimum": 0, "maximum": 0.1}, {"multipleOf": STEP}),
        ({"type": "number", "minimum": 0, "maximum": 1e-7}, {}),
        ({"type": "integer", "minimum": 3}, {"maximum": LARGEST}),
        (
            {"type": "number", "exclusiveMaximum": 3},
            {"minimum": -LARGEST, "multipleOf": STEP},
        ),
        ({"type": "integer", "minimum": 1e17}, {}),
        ({"type": "integer", "maximum": -1e17}, {}),
        ({"type": "integer", "enum": [10**17]}, {}),
        ({"type": "integer", "minimum": "a"}, {}),
        ({"type": "string"}, {}),
        ({"type": [["integer"], None]}, {}),
        ({}, {}),
    ],
)
def test_numbers_have_limits(schema: dict[str, Any], added: dict[str, int]) -> None:
    assert ready_schema({"items": schema}) == {"items": {**schema, **added}}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"const": "a\x00"}, "#/const has the control character U+0000"),
        ({"properties": {"a": {"enum": [1, {"b": ["\x7f"]}]}}}, "#/properties/a/enum .* U+007F"),
        ({"enum": [{"\x1f": 1}]}, "#/enum .* U+001F"),
        ({"minProperties": 2}, "#/minProperties is 2 and 0 names are required; .* at most 1"),
        ({"items": {"minProperties": 4, "required": ["a"]}}, "#/items/minProperties is 4 and 1"),
        ({"maximum": float("inf")}, "no JSON"),
        ('{"maximum": 1e999}', "no JSON"),
        ('{"minimum": NaN}', "no JSON"),
        ('{"items":' * 100_000, "nested too deeply"),
        ('{"items":' * 900 + "{}" + "}" * 900, "nested too deeply"),
    ],
)
def test_what_cannot_be_kept(schema: Any, words: str) -> None:
    with pytest.raises(RequestError, match=words.replace("+", r"\+")):
        AnswerFormat.json_schema(schema)


def test_a_schema_that_holds_itself() -> None:
    schema: dict[str, Any] = {}
    schema["items"] = schema
    with pytest.raises(RequestError, match="holds itself"):
        AnswerFormat.json_schema(schema)
