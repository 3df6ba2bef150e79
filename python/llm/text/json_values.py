"""JSON values as the engine can hold them."""

from collections.abc import Mapping
from typing import Any

WHOLE = range(-(2**63), 2**63)


def held(value: Any) -> Any:
    """The value with whole numbers beyond 64 bits as floats, as other readers of JSON have them."""
    if isinstance(value, int) and not isinstance(value, bool) and value not in WHOLE:
        try:
            return float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    if isinstance(value, Mapping):
        return {key: held(each) for key, each in value.items()}
    if isinstance(value, list):
        return [held(each) for each in value]
    return value
