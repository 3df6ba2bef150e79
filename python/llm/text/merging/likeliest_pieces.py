"""Unigram: of all ways to cut a text into tokens, the one whose scores have the largest sum.

Scores are log probabilities. It is llama.cpp's search, in float64: SentencePiece's sums are float32
and break ties otherwise.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from llm.text.merging.charsmap import CharsMap
from llm.text.vocabulary import NORMAL, UNUSED, USER_DEFINED

if TYPE_CHECKING:
    from llm.text.vocabulary import Vocabulary

_SPACE = "▁"
_UNKNOWN_PENALTY = np.float32(10.0)  # below the worst token


class LikeliestPieces:
    """See `Merging`."""

    def __init__(self, vocabulary: "Vocabulary", charsmap: CharsMap, *, joins_spaces: bool) -> None:
        """Where `joins_spaces`, each word has one space before it, the first too."""
        types, scores = vocabulary.types.tolist(), vocabulary.scores.tolist()
        allowed = {NORMAL, UNUSED, USER_DEFINED}
        self._pieces = {
            text.decode("utf-8", "replace"): (id, 0.0 if types[id] == USER_DEFINED else scores[id])
            for id, text in enumerate(vocabulary.tokens)
            if types[id] in allowed and text and id not in vocabulary.control_ids
        }
        self._lengths = sorted(set(map(len, self._pieces)))  # characters
        worst = vocabulary.scores[vocabulary.types == NORMAL].min(initial=np.inf)
        self._unknown = vocabulary.unknown_id or 0, float(worst - _UNKNOWN_PENALTY)
        self._charsmap = charsmap
        self._joins_spaces = joins_spaces
        self.leading_space = joins_spaces or vocabulary.add_space_prefix

    def encode(self, text: str, *, begins: bool) -> list[int]:
        ids: list[int] = []
        for token in self._best(self._prepared(self._charsmap.normalized(text), begins)):
            if not (ids and token == ids[-1] == self._unknown[0]):  # a run of strangers is one
                ids.append(token)
        return ids

    def piece(self, token: bytes, *, is_added: bool) -> bytes:
        return token if is_added else token.replace(_SPACE.encode(), b" ")

    def _prepared(self, text: str, begins: bool) -> str:
        if self._joins_spaces:
            joined = "".join(_SPACE + word for word in text.split(" ") if word)
            return joined if begins or text.startswith(" ") else joined.removeprefix(_SPACE)
        starts = begins and self.leading_space and text.strip(" ")
        return (_SPACE if starts else "") + text.replace(" ", _SPACE)

    def _best(self, text: str) -> Sequence[int]:
        size = len(text)
        sums = [0.0] + [-math.inf] * size  # of the best way to each place
        last: list[tuple[int, int]] = [(0, 0)] * (size + 1)  # its last token, and where it begins
        for start in range(size):
            before = sums[start]
            stranger = True
            for length in self._lengths:
                if start + length > size:
                    break
                found = self._pieces.get(text[start : start + length])
                if found is None:
                    continue
                stranger = stranger and length > 1
                if before + found[1] > sums[start + length]:
                    sums[start + length] = before + found[1]
                    last[start + length] = found[0], start
            if stranger and before + self._unknown[1] > sums[start + 1]:
                sums[start + 1] = before + self._unknown[1]
                last[start + 1] = self._unknown[0], start
        ids = []
        while size:
            token, size = last[size]
            ids.append(token)
        return ids[::-1]
