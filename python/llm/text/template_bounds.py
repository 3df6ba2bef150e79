"""How many characters a filter or method may make of its arguments, before it makes them.

Only for those that can make more than they get: a short template could fill the memory by one.
"""

import re
from collections.abc import Callable
from typing import Any

_FIELD = 10_000  # a field of a format is less wide
_WIDE_CONVERSION = re.compile(r"%(?:\(|[#0\- +.\d]*?(?:\*|\d{5}))")  # or one that is named
_WIDE_FIELD = re.compile(r":[^{}:]*(?:\d{5}|\{)")


def conversions_bound(text: str, weight: int) -> int:
    """Characters in `text % values` of that weight."""
    if _WIDE_CONVERSION.search(text):
        raise ValueError(f"a format's field is named, or {_FIELD:,} wide or more")
    return len(text) + text.count("%") * (_FIELD + weight)


def fields_bound(text: str, weight: int) -> int:
    """Characters in `text.format(…)` of arguments with that weight."""
    if _WIDE_FIELD.search(text):
        raise ValueError(f"a format's field is {_FIELD:,} wide or more")
    return len(text) + text.count("{") * (_FIELD + weight)


def _join_bound(values: Any, separator: str = "", attribute: Any = None) -> int:
    return len(values) * len(separator)


def _replace_bound(text: Any, old: Any, new: Any, count: int | None = None) -> int:
    said = str(text)
    return len(said) + said.count(str(old)) * len(str(new))


def _indent_bound(text: str, width: int | str = 4, first: bool = False, blank: bool = False) -> int:
    size = width if isinstance(width, int) else len(width)
    return len(text) + (len(text.splitlines()) + 1) * size


def _round_bound(value: Any, precision: int = 0, method: str = "common") -> int:
    return 1 << min(abs(precision), 64)  # as 10 ** precision is computed


def _sum_bound(values: Any, attribute: Any = None, start: float = 0) -> int:
    if not isinstance(start, int | float):
        raise TypeError("sum adds numbers only")
    return 0


FILTER_BOUNDS: dict[str, Callable[..., int]] = {
    "indent": _indent_bound,
    "join": _join_bound,
    "replace": _replace_bound,
    "round": _round_bound,
    "sum": _sum_bound,
}
METHOD_BOUNDS: dict[str, Callable[..., int]] = {
    "join": lambda separator, values: len(values) * len(separator),
    "replace": _replace_bound,
}
