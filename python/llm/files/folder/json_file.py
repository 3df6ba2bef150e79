"""Reads JSON that may be anything: too long, too deep, or no object."""

import json
import os
from typing import Any, NoReturn

from llm.errors import ModelFileError

MAX_JSON_BYTES = 1 << 26  # the largest tokenizer.json known has 33 MB
MAX_JSON_VALUES = 1 << 22  # each becomes a Python object; that one has half as many


def read_json(path: str, *, optional: bool = False) -> dict[str, Any]:
    """The object that a file holds; an empty one where `optional` and missing.

    Raises ModelFileError.
    """
    if optional and not os.path.exists(path):
        return {}
    if not os.path.isfile(path):
        missing = "is no plain file" if os.path.exists(path) else "does not exist"
        raise ModelFileError(path, "file", missing)
    try:
        size = os.path.getsize(path)
        if size > MAX_JSON_BYTES:
            problem = f"has {size:,} bytes, but may have {MAX_JSON_BYTES:,} at most"
            raise ModelFileError(path, "file", problem)
        with open(path, "rb") as file:
            data = file.read(size)
    except OSError as error:
        raise ModelFileError(path, "file", f"cannot be opened: {error.strerror}") from None
    return parse_json(data, path, "file")


def parse_json(data: bytes, path: str, field: str) -> dict[str, Any]:
    """The object in UTF-8 `data`. Raises ModelFileError, also for NaN and infinity."""
    values = sum(map(data.count, (b",", b"[", b"{")))
    if values > MAX_JSON_VALUES:
        problem = f"holds {values:,} values, but may hold {MAX_JSON_VALUES:,} at most"
        raise ModelFileError(path, field, problem)
    try:
        found = json.loads(str(data, "utf-8"), parse_constant=_refuse)
    except RecursionError:
        raise ModelFileError(path, field, "is JSON nested too deeply") from None
    except ValueError as error:  # of JSON, UTF-8, or an integer of too many digits
        raise ModelFileError(path, field, f"is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ModelFileError(path, field, "is JSON, but not an object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")
