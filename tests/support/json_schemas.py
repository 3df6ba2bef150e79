"""The schemas of tests/golden/json_schemas.json, and whether an answer keeps to one."""

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

PATH = Path(__file__).parents[1] / "golden" / "json_schemas.json"
SCHEMAS: dict[str, dict[str, Any]] = json.loads(PATH.read_text())

# As decimals: 8.1 is a multiple of 0.1, and no double that is called so.
_EXACT: dict[str, Any] = json.loads(PATH.read_text(), parse_float=Decimal)
_FORMATS = FormatChecker(("ipv4", "ipv6", "email", "uuid"))


@_FORMATS.checks("date", raises=ValueError)
def _is_date(text: object) -> bool:
    """A month has its days; that a year has a 29 February is no matter of a grammar."""
    return bool(datetime.date.fromisoformat(f"2000{str(text)[4:]}"))


@_FORMATS.checks("date-time", raises=ValueError)
def _is_date_time(text: object) -> bool:
    return _is_date(str(text)[:10])


def check_answer(name: str, text: str) -> None:
    """Raises ValueError where it does not parse, ValidationError where it is not valid."""
    answer = json.loads(text, parse_float=Decimal, parse_constant=_refuse)
    Draft202012Validator(_EXACT[name], format_checker=_FORMATS).validate(answer)
    json.loads(text.encode())  # UTF-8, without halves of surrogate pairs


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
