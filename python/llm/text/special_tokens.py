"""Cuts text at special tokens, as llama.cpp does, before anything is merged.

User-defined tokens are text of their own and always cut. Control tokens cut only where the
caller asks for it, so that "<end_of_turn>" typed by a player stays plain text. Longer tokens
cut first, wherever they stand: a long one wins against a shorter one further left.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

# Texts that share their first characters are looked for only where those characters occur:
# Gemma has 6,242 tokens "<unused…>", and one search settles that none of them is there.
_SHARED_PREFIX = 4

# Characters that tell a control token from other text: "</s>" from "</think>".
BEGINNING = 3

# isspace() of the C locale, which is what llama.cpp asks.
_WHITESPACE = frozenset(" \t\n\v\f\r")

# A stretch of plain text (start, end), or the id of a token that stood in the text.
_Part = tuple[int, int] | int


@dataclass(frozen=True, slots=True)
class SpecialToken:
    id: int
    text: str
    control: bool  # cuts only where control tokens were asked for
    swallows_space: bool = False  # white space after it disappears
    swallows_before: bool = False  # and that before it


class SpecialTokens:
    def __init__(self, tokens: Iterable[SpecialToken]) -> None:
        ordered = sorted(
            (token for token in tokens if token.text),
            key=lambda token: (-len(token.text.encode()), token.id),
        )
        self._rank = {token.id: rank for rank, token in enumerate(ordered)}
        self._all = _by_prefix(ordered)
        self._user_defined = _by_prefix(token for token in ordered if not token.control)
        self.control_beginnings = frozenset(
            token.text[:BEGINNING] for token in ordered if token.control
        )

    def split(
        self, text: str, *, control: bool, guarded: Collection[int] = frozenset()
    ) -> list[str | int]:
        """Plain text (never empty) and token ids, in order.

        With `control`, control tokens cut too, except where they begin at a position in `guarded`.
        """
        groups = self._all if control else self._user_defined
        present = [
            token
            for prefix, tokens in groups.items()
            if prefix in text
            for token in tokens
            if token.text in text
        ]
        parts: list[_Part] = [(0, len(text))] if text else []
        for token in sorted(present, key=lambda token: self._rank[token.id]):
            parts = list(_cut(text, parts, token, guarded if token.control else ()))
        return [part if isinstance(part, int) else text[part[0] : part[1]] for part in parts]


def _by_prefix(tokens: Iterable[SpecialToken]) -> dict[str, list[SpecialToken]]:
    groups: dict[str, list[SpecialToken]] = {}
    for token in tokens:
        groups.setdefault(token.text[:_SHARED_PREFIX], []).append(token)
    return groups


def _cut(
    text: str, parts: Iterable[_Part], token: SpecialToken, guarded: Collection[int]
) -> Iterator[_Part]:
    for part in parts:
        if isinstance(part, int):
            yield part
            continue
        start, end = part
        found = text.find(token.text, start, end)
        while found >= 0:
            if found in guarded:
                found = text.find(token.text, found + 1, end)
                continue
            before = found
            while token.swallows_before and before > start and text[before - 1] in _WHITESPACE:
                before -= 1
            if before > start:
                yield start, before
            yield token.id
            start = found + len(token.text)
            while token.swallows_space and start < end and text[start] in _WHITESPACE:
                start += 1
            found = text.find(token.text, start, end)
        if start < end:
            yield start, end
