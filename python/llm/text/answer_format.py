"""What an answer must look like, as a caller says it. Plain values: nothing heavy is imported."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llm.errors import RequestError
from llm.text.json_schema import ready_schema

JSON_SCHEMA, GBNF, REGEX, CHOICES = KINDS = ("json_schema", "grammar", "regex", "choices")

Choices = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """One of KINDS, and its text: a JSON schema, a GBNF grammar, a regular expression; or texts."""

    kind: str
    source: str | Choices

    @classmethod
    def json_schema(cls, schema: str | Mapping[str, Any]) -> "AnswerFormat":
        """From JSON text, or what it would parse to. Raises RequestError."""
        try:
            found = json.loads(schema) if isinstance(schema, str) else _whole(schema)
            if not isinstance(found, dict):
                raise RequestError(
                    f"json_schema is a {type(found).__name__}; it must be an object, as "
                    '{"type": "object", "properties": {…}}'
                )
            text = json.dumps(ready_schema(found), ensure_ascii=False, allow_nan=False)
        except (ValueError, TypeError) as error:
            raise RequestError(f"json_schema is no JSON: {error}") from error
        except RecursionError as error:
            raise RequestError("json_schema is nested too deeply, or holds itself") from error
        return cls(JSON_SCHEMA, text)

    @classmethod
    def choices(cls, texts: Choices) -> "AnswerFormat":
        """RequestError where one is empty."""
        if not texts or not all(texts):
            raise RequestError("choices has an empty text; name what may be answered")
        return cls(CHOICES, texts)


def _whole(value: Any) -> Any:
    """Whole numbers as ints: what went through another JSON reader has floats only, and a schema
    that counts by floats is refused."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _whole(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(each) for each in value]
    return value
