"""Reads calls that look like a program: `f(a=1)` as LFM2 writes them, `call:f{a:1}` as Gemma does.

Not by Python's own parser, which would change names (it normalises them) and refuse words such as
`from`. Texts stand between quotes or between Gemma's markers; words are those of Python or JSON.
"""

import re
from collections.abc import Iterator
from typing import Any, NoReturn

from llm.text.surrogates import without_surrogates

_WORD = re.compile(r"[^\s,:=(){}\[\]\"'<]+")
_NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|-?\.\d+")
_CONSTANTS = {
    "True": True,
    "true": True,
    "False": False,
    "false": False,
    "None": None,
    "null": None,
}
_TEXT_MARKERS = ('<|"|>', "<escape>")
_STRING = {quote: re.compile(rf"(?:[^{quote}\\]|\\.)*", re.DOTALL) for quote in "\"'"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}


class LiteralReader:
    """All methods raise ValueError, with words for the model, where the text is of another form."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0

    def calls(self) -> Iterator[tuple[str, dict[str, Any]]]:
        is_list = self._take("[")
        while True:
            self._take("call:")
            name = self._match(_WORD, "the name of a tool")
            if self._take("("):
                yield name, self._mapping("=", ")")
            elif self._take("{"):
                yield name, self._mapping(":", "}")
            else:
                self._refuse("( or {")
            self._take(",")
            if self._take("]") if is_list else self._is_at_end():
                break
        if not self._is_at_end():
            self._refuse("the end")

    def _mapping(self, colon: str, closer: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not self._take(closer):
            key = self._text_value()
            if key is None:
                key = self._match(_WORD, "the name of an argument")
            if not self._take(colon):
                self._refuse(colon)
            found[key] = self._value()
            if not self._take(",") and not self._follows(closer):
                self._refuse(f", or {closer}")
        return found

    def _value(self) -> Any:
        if (text := self._text_value()) is not None:
            return text
        if self._take("{"):
            return self._mapping(":", "}")
        if self._take("["):
            items = []
            while not self._take("]"):
                items.append(self._value())
                if not self._take(",") and not self._follows("]"):
                    self._refuse(", or ]")
            return items
        word = self._match(_WORD, "a value")
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        if _NUMBER.fullmatch(word):
            return int(word) if word.lstrip("-").isdigit() else float(word)
        return word

    def _text_value(self) -> str | None:
        """A quoted text, if one comes next."""
        for marker in _TEXT_MARKERS:
            if self._take(marker):
                end = self._text.find(marker, self._place)
                if end < 0:
                    self._refuse(marker)
                text = self._text[self._place : end]
                self._place = end + len(marker)
                return text
        for quote, pattern in _STRING.items():
            if self._take(quote):
                found = pattern.match(self._text, self._place)
                assert found is not None  # it matches nothing as well
                self._place = found.end()
                if not self._text.startswith(quote, self._place):
                    self._refuse(quote)
                self._place += 1
                return without_surrogates(_ESCAPE.sub(_escaped, found[0]))
        return None

    def _follows(self, text: str) -> bool:
        while self._place < len(self._text) and self._text[self._place].isspace():
            self._place += 1
        return self._text.startswith(text, self._place)

    def _take(self, text: str) -> bool:
        if not self._follows(text):
            return False
        self._place += len(text)
        return True

    def _match(self, pattern: re.Pattern[str], what: str) -> str:
        self._follows("")  # past white space
        found = pattern.match(self._text, self._place)
        if found is None:
            self._refuse(what)
        self._place = found.end()
        return found[0]

    def _is_at_end(self) -> bool:
        return self._follows("") and self._place == len(self._text)

    def _refuse(self, expected: str) -> NoReturn:
        raise ValueError(f"at character {self._place} there must be {expected}")


def _escaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _ESCAPES.get(found[3], found[3])
