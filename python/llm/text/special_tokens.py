"""Cuts text at special tokens, as llama.cpp does, before anything is merged.

User-defined tokens are text of their own and always cut. Control tokens cut only where the
caller asks for it, so that "<end_of_turn>" typed by a player stays plain text. Longer tokens
cut first, wherever they stand: a long one wins against a shorter one further left.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# Texts that share their first characters are looked for only where those characters occur:
# Gemma has 6,242 tokens "<unused…>", and one search settles that none of them is there.
_SHARED_PREFIX = 4

# isspace() of the C locale, which is what llama.cpp asks.
_WHITESPACE = frozenset(" \t\n\v\f\r")


@dataclass(frozen=True, slots=True)
class SpecialToken:
    id: int
    text: str
    control: bool  # cuts only where control tokens were asked for
    swallows_space: bool = False  # white space after it disappears


class SpecialTokens:
    def __init__(self, tokens: Iterable[SpecialToken]) -> None:
        ordered = sorted(
            (token for token in tokens if token.text),
            key=lambda token: (-len(token.text.encode()), token.id),
        )
        self._rank = {token.id: rank for rank, token in enumerate(ordered)}
        self._all = _by_prefix(ordered)
        self._user_defined = _by_prefix(token for token in ordered if not token.control)

    def split(self, text: str, *, control: bool) -> list[str | int]:
        """Plain text (never empty) and token ids, in order."""
        groups = self._all if control else self._user_defined
        present = [
            token
            for prefix, tokens in groups.items()
            if prefix in text
            for token in tokens
            if token.text in text
        ]
        parts: list[str | int] = [text] if text else []
        for token in sorted(present, key=lambda token: self._rank[token.id]):
            parts = list(_cut(parts, token))
        return parts


def _by_prefix(tokens: Iterable[SpecialToken]) -> dict[str, list[SpecialToken]]:
    groups: dict[str, list[SpecialToken]] = {}
    for token in tokens:
        groups.setdefault(token.text[:_SHARED_PREFIX], []).append(token)
    return groups


def _cut(parts: Iterable[str | int], token: SpecialToken) -> Iterator[str | int]:
    for part in parts:
        if isinstance(part, int):
            yield part
            continue
        start = 0
        while (found := part.find(token.text, start)) >= 0:
            if found > start:
                yield part[start:found]
            yield token.id
            start = found + len(token.text)
            while token.swallows_space and part[start : start + 1] in _WHITESPACE:
                start += 1
        if start < len(part):
            yield part[start:]
