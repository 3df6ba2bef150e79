"""What stands in a vector store beside a vector. Imports nothing heavy."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llm.errors import RequestError


@dataclass(frozen=True, slots=True)
class Entry:
    id: int  # from 1 up, none is given twice
    text: str
    metadata: Mapping[str, Any]  # what JSON can hold


def checked_metadata(metadata: Mapping[Any, Any]) -> dict[str, Any]:
    """A copy. RequestError where a file could not hold it, or would give back something else."""
    try:
        copy: dict[str, Any] = json.loads(json.dumps(metadata, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        copy = {}
    if copy != metadata:
        raise RequestError(
            "metadata may have texts, finite numbers, true, false and null, and arrays and "
            "dictionaries of these; its keys must be texts"
        )
    return copy
