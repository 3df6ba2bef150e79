"""What a caller may give as a format."""

import json
from typing import Any

import pytest

from llm.errors import RequestError
from llm.text.answer_format import AnswerFormat


def test_whole_numbers_are_ints() -> None:
    schema = {"type": "array", "maxItems": 3.0, "items": {"enum": [1.0, 2.5, True]}}
    found = json.loads(AnswerFormat.json_schema(schema).source)  # type: ignore[arg-type]
    assert repr(found) == repr({"type": "array", "maxItems": 3, "items": {"enum": [1, 2.5, True]}})


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("{", "json_schema is no JSON"),
        ("[1]", "json_schema is a list; it must be an object"),
        ("true", "json_schema is a bool"),
        ({"enum": [object()]}, "json_schema is no JSON"),
    ],
)
def test_what_is_no_schema(schema: Any, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        AnswerFormat.json_schema(schema)


@pytest.mark.parametrize("texts", [(), ("",), ("a", "")])
def test_what_are_no_choices(texts: tuple[str, ...]) -> None:
    with pytest.raises(RequestError, match="choices"):
        AnswerFormat.choices(texts)
