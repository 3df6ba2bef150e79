"""Cuts text into the words that byte pairs merge within, by regular expressions.

Python's `re` knows no Unicode categories, so it runs over the text's shape: a string of the same
length in which every character but ASCII is replaced by one that stands for its category. That is
llama.cpp's way too: all white space beyond ASCII is alike.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

_OTHER = "\x80"
_SPACE = "\v"  # \s has it

# Category: what stands for it beyond ASCII, and its members within, as a set of `re` writes them.
_CATEGORIES = {
    "Lu": ("\x81", "A-Z"),
    "Ll": ("\x82", "a-z"),
    "Lt": ("\x83", ""),
    "Lm": ("\x84", ""),
    "Lo": ("\x86", ""),
    "Han": ("\x87", ""),
    "N": ("\x88", "0-9"),
    "P": ("\x89", r"!-#%-*,-/:;?@\[-\]_{}"),
    "M": ("\x8a", ""),
    "S": ("\x8b", r"$+<->\^`|~"),
}
_SETS = {name: shape + members for name, (shape, members) in _CATEGORIES.items()}
_SETS["L"] = "".join(_SETS[name] for name in ("Lu", "Ll", "Lt", "Lm", "Lo", "Han"))

_WHITE_SPACE = frozenset("\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | frozenset(
    map(chr, range(0x2000, 0x200B))
)
_ALIKE = {ord(space): _SPACE for space in _WHITE_SPACE}

# Blocks of Chinese characters, first and last.
_HAN = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2EBEF),
    (0x2F800, 0x2FA1F),
)

# Blocks that Unicode fills from version to version, and what with: a text may be newer than Python.
_FILLING = (
    (0x1F6D8, 0x1F6DF, "S"),
    (0x1FA70, 0x1FAFF, "S"),
    (0x2A6DE, 0x2FFFD, "Lo"),
    (0x30000, 0x3FFFD, "Lo"),
)

_PARTS = re.compile(r"\\p\{(\w+)\}|\\.|.", re.DOTALL)


class Splitter:
    """Applies patterns one after the other, each within the pieces of the one before.

    What a pattern matches becomes a piece, and so does what lies between two matches. `\\p{…}`
    may name a category of _CATEGORIES, or L. Raises `re.error` where a pattern is wrong.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        # A pattern that names categories runs over the shape, another over the text itself.
        self._patterns = [
            (re.compile(_without_categories(pattern), re.ASCII), r"\p{" in pattern)
            for pattern in patterns
        ]

    def split(self, text: str) -> list[str]:
        """The words of `text`, in order; together they are the text."""
        if not text:
            return []
        shape = plain = text
        if not text.isascii():
            shape, plain = text.translate(_SHAPES), text.translate(_ALIKE)
        ends: Sequence[int] = [len(text)]
        for pattern, by_category in self._patterns:
            ends = _cut(pattern, shape if by_category else plain, ends)
        starts = [0, *ends[:-1]]
        return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _cut(pattern: re.Pattern[str], text: str, ends: Iterable[int]) -> list[int]:
    """Where pieces end after the pattern cut each of them; it sees no further than a piece."""
    found: list[int] = []
    begin = 0
    for end in ends:
        piece = text[begin:end]
        last = 0
        for match in pattern.finditer(piece):
            start, stop = match.span()
            if start > last:
                found.append(begin + start)
            if stop > start:
                found.append(begin + stop)
            last = stop
        if begin + last < end:
            found.append(end)
        begin = end
    return found


def _without_categories(pattern: str) -> str:
    return "".join(_translated(pattern))


def _translated(pattern: str) -> Iterator[str]:
    is_set = False  # within [ and ]
    for part in _PARTS.finditer(pattern):
        if part[1] is not None:
            if part[1] not in _SETS:
                raise re.error(f"category {part[1]} is not known", pattern, part.start())
            members = _SETS[part[1]]
            yield members if is_set else f"[{members}]"
            continue
        if part[0] in ("[", "]"):
            is_set = part[0] == "["
        yield part[0]


class _Shapes(dict[int, str]):
    """Code points to what stands for them, found when first met."""

    def __missing__(self, code: int) -> str:
        shape = self[code] = _shape(chr(code))
        return shape


def _shape(character: str) -> str:
    if character.isascii():
        return character
    if character in _WHITE_SPACE:
        return _SPACE
    code, category = ord(character), unicodedata.category(character)
    if category == "Cn":
        category = next((kind for first, last, kind in _FILLING if first <= code <= last), "Cn")
    if category == "Lo" and any(first <= code <= last for first, last in _HAN):
        category = "Han"
    known = _CATEGORIES.get(category) or _CATEGORIES.get(category[0])
    return known[0] if known else _OTHER


_SHAPES = _Shapes()
