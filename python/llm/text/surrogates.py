"""Strings from the engine may hold halves of surrogate pairs, which no UTF-8 can."""

from collections.abc import Mapping
from typing import Any


def without_surrogates(text: str) -> str:
    """Joins surrogate pairs into the characters they mean; a half alone becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def values_without_surrogates(value: Any) -> Any:
    """A copy of JSON-like `value`, all of whose texts are without surrogates."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, Mapping):
        return {
            values_without_surrogates(key): values_without_surrogates(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [values_without_surrogates(item) for item in value]
    return value
