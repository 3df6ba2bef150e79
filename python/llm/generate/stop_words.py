"""Looks for stop words in text that arrives in pieces.

A stop word may lie across pieces, so text that may be the beginning of one is held back. What comes
out does not depend on where the pieces were cut.
"""

from collections.abc import Iterable


class StopWords:
    """`push` gives the text that is safe to show. Once `found` is set, nothing more comes out."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = tuple(word for word in words if word)
        self._held = ""
        self.found: str | None = None

    def push(self, piece: str) -> str:
        if self.found is not None:
            return ""
        text = self._held + piece
        # The word that is complete first wins, and of two that end together the longer: the same
        # choice that would be made if the text came in character by character.
        matches = [
            (start + len(word), start, word)
            for word in self._words
            if (start := text.find(word)) >= 0
        ]
        if matches:
            _, start, self.found = min(matches)
            self._held = ""
            return text[:start]
        keep = max((_overlap(text, word) for word in self._words), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> str:
        """What was held back, now that no more text comes."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, word: str) -> int:
    """Length of the longest end of `text` that is a beginning of `word`, but not all of it."""
    for length in range(min(len(text), len(word) - 1), 0, -1):
        if text.endswith(word[:length]):
            return length
    return 0
