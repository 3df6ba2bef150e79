"""Merges by rank: of all neighbours in a word that the file has a merge for, the earliest merge.

What the file stores is looked up as it stores it, so opening takes no time to speak of. A word is
merged once and then remembered, so that a text costs little more than a look-up a word.
"""

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from llm.text.merging.alphabets import Alphabet, ByteLevel, Characters
from llm.text.merging.pre_tokenizers import PreTokenizer
from llm.text.merging.splitting import Splitter

_REMEMBERED = 1 << 15  # words
_LONGEST_REMEMBERED = 64  # characters


class BytePairs:
    """See `Merging`."""

    leading_space = False

    def __init__(
        self,
        tokens: Sequence[bytes],
        control_ids: Iterable[int],
        merges: Sequence[bytes],
        pre_tokenizer: PreTokenizer,
    ) -> None:
        """`merges` are pairs of tokens with a space between the two, the earliest first."""
        self._ids = dict(zip(tokens, range(len(tokens)), strict=True))
        for token in control_ids:
            if self._ids.get(tokens[token]) == token:
                del self._ids[tokens[token]]
        last = len(merges) - 1  # of equal merges the first counts
        self._ranks = dict(zip(reversed(merges), range(last, -1, -1), strict=True))
        self._alphabet: Alphabet = Characters() if pre_tokenizer.by_characters else ByteLevel()
        self._takes_words = pre_tokenizer.takes_whole_words
        self._takes_newlines = pre_tokenizer.takes_newlines
        self._splitter = Splitter(pre_tokenizer.patterns)
        self._remembered: dict[str, list[int]] = {}

    def encode(self, text: str, *, begins: bool) -> list[int]:
        ids: list[int] = []
        for word in self._splitter.split(self._alphabet.prepared(text)):
            known = self._remembered.get(word)
            ids += self._word(word) if known is None else known
        return ids

    def piece(self, token: bytes, *, is_added: bool) -> bytes:
        return self._alphabet.piece(token, is_added=is_added)

    def _word(self, word: str) -> list[int]:
        symbols = self._alphabet.symbols(word)
        whole = self._ids.get(b"".join(symbols)) if self._may_be_whole(word) else None
        ids = [whole] if whole is not None else self._tokens(merged(symbols, self._ranks))
        if len(word) <= _LONGEST_REMEMBERED:
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            self._remembered[word] = ids
        return ids

    def _may_be_whole(self, word: str) -> bool:
        return self._takes_words or (self._takes_newlines and not word.strip("\n"))

    def _tokens(self, symbols: Iterable[bytes]) -> list[int]:
        """Ids of merged symbols. What is no token, or one that text must not become, falls back to
        smaller tokens; what has none of these is left out, as by llama.cpp."""
        ids: list[int] = []
        for symbol in symbols:
            token = self._ids.get(symbol)
            if token is not None:
                ids.append(token)
                continue
            smaller = map(self._ids.get, self._alphabet.fallback(symbol))
            ids += [token for token in smaller if token is not None]
        return ids


def merged(symbols: list[bytes], ranks: dict[bytes, int]) -> list[bytes]:
    """What is left of `symbols` when no two neighbours merge; of equal ranks the leftmost is first.

    Takes time in n log n, whatever the symbols are.
    """
    size = len(symbols)
    symbols = [*symbols, b""]  # where they have merged into one before them, they are empty
    after = list(range(1, size + 1))
    before = list(range(-1, size))  # the last is where a search for the end's neighbour lands
    queue: list[tuple[int, int, int]] = []  # rank, place of the left one, bytes of both

    def pair(left: int, right: int) -> tuple[int, int, int] | None:
        first, second = symbols[left], symbols[right]
        rank = ranks.get(first + b" " + second)
        return None if rank is None else (rank, left, len(first) + len(second))

    for left in range(size - 1):
        found = pair(left, left + 1)
        if found is not None:
            queue.append(found)
    heapify(queue)
    while queue:
        _, left, length = heappop(queue)
        right = after[left]
        # One of the two has merged since.
        if not symbols[left] or right == size or len(symbols[left] + symbols[right]) != length:
            continue
        symbols[left] += symbols[right]
        symbols[right] = b""
        after[left] = following = after[right]
        before[following] = left
        for neighbours in ((before[left], left), (left, following)):
            if neighbours[0] >= 0 and neighbours[1] < size:
                found = pair(*neighbours)
                if found is not None:
                    heappush(queue, found)
    return [symbol for symbol in symbols if symbol]
