"""WordPiece, as BERT has it: words in lower case without accents, the longest token first.

Words begin with U+2581 in model files, and go on without a mark.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

_START = "▁"

# Scripts written without spaces: each character is a word.
_CHINESE = re.compile(
    "[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f"
    "\U0002b920-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f]"
)
_SPACES = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")


class WordPieces:
    """See `Merging`."""

    leading_space = True

    def __init__(
        self,
        tokens: Sequence[bytes],
        control_ids: Iterable[int],
        unknown_id: int | None,
        *,
        lower_case: bool,
        strip_accents: bool,
    ) -> None:
        hidden = frozenset(control_ids)
        self._ids = {
            token.decode("utf-8", "replace"): id
            for id, token in enumerate(tokens)
            if id not in hidden and token
        }
        self._longest = max(map(len, self._ids), default=0)  # characters
        self._unknown = [] if unknown_id is None else [unknown_id]
        self._lower_case = lower_case
        self._strip_accents = strip_accents

    def encode(self, text: str, *, begins: bool) -> list[int]:
        return [token for word in self._words(text) for token in self._pieces(_START + word)]

    def piece(self, token: bytes, *, is_added: bool) -> bytes:
        return token if is_added else token.replace(_START.encode(), b" ")

    def _words(self, text: str) -> Iterator[str]:
        for run in _SPACES.split(text):
            word = ""
            for character in filter(None, map(self._normal, run)):
                if _stands_alone(character):
                    if word:
                        yield word
                    yield character
                    word = ""
                else:
                    word += character
            if word:
                yield word

    def _normal(self, character: str) -> str:
        """One character or none. Like llama.cpp it keeps of a decomposed one only what is first,
        in Korean the first letter of a syllable."""
        if self._strip_accents:
            character = unicodedata.normalize("NFD", character)[0]
        category = unicodedata.category(character)
        if character == "\ufffd" or category in ("Cc", "Cf", "Co"):
            return ""
        if self._strip_accents and category[0] == "M":
            return ""
        return character.lower()[0] if self._lower_case else character

    def _pieces(self, word: str) -> list[int]:
        ids: list[int] = []
        start = 0
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                token = self._ids.get(word[start:end])
                if token is not None:
                    ids.append(token)
                    start = end
                    break
            else:
                return self._unknown  # a word is known in whole or not at all
        return ids


def _stands_alone(character: str) -> bool:
    category = unicodedata.category(character)[0]
    is_mark = category == "P" or (category == "S" and character.isascii())
    return is_mark or _CHINESE.match(character) is not None
