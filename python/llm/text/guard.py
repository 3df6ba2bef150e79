"""Marks typed text on its way through a chat template, so that no control token begins in it.

The mark is an invisible character behind the first one of whatever could begin such a token. Text
without such places passes unchanged, because templates look into it (trim, split, compare).
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

_PRIVATE_USE = range(0xF0000, 0xFFFFE)


class Guard:
    """For one prompt. `values` are all that will be marked: the mark occurs in none of them."""

    def __init__(self, values: object) -> None:
        texts = list(_texts(values))
        for mark in map(chr, _PRIVATE_USE):
            spellings = _spellings(mark)
            if not any(spelling in text for spelling in spellings for text in texts):
                break
        self._mark = mark
        self._pattern = re.compile("|".join(map(re.escape, spellings)))

    def marked(self, value: Any, beginnings: re.Pattern[str]) -> Any:
        """A copy of JSON-like `value`: each match of `beginnings` with a mark in it."""
        if isinstance(value, str):
            return beginnings.sub(lambda found: found[0][0] + self._mark + found[0][1:], value)
        if isinstance(value, Mapping):
            return {
                self.marked(key, beginnings): self.marked(item, beginnings)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.marked(item, beginnings) for item in value]
        return value

    def unmarked(self, text: str) -> tuple[str, set[int]]:
        """`text` without marks, and the positions of the characters before them."""
        pieces = self._pattern.split(text)
        ends = accumulate(len(piece) for piece in pieces[:-1])
        return "".join(pieces), {end - 1 for end in ends}


def beginnings_pattern(beginnings: Collection[str]) -> re.Pattern[str]:
    # An empty pattern would match everywhere, this one nowhere.
    return re.compile("|".join(map(re.escape, sorted(beginnings))) or r"(?!)")


def _spellings(mark: str) -> Sequence[str]:
    """How templates print the mark: as it is, in ASCII-only JSON, or as Python's repr."""
    return mark, json.dumps(mark)[1:-1], repr(mark)[1:-1]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(list(value.keys()))
        yield from _texts(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
