"""What SentencePiece's normaliser does to text: a map of byte sequences to what replaces them.

The map is a double array of little-endian words (darts-clone's), then texts that end in NUL. A
node's children stand at its offset, each at that xor its byte; a leaf says where its text begins.
"""

from collections.abc import Iterator, Sequence

import numpy as np

_WORD = 4  # bytes
_VALUE = 1 << 31  # set in words that are the place of a text


class CharsMap:
    """Wherever a damaged map points beyond its end, nothing is replaced."""

    def __init__(self, stored: bytes) -> None:
        """`stored` is the array's size in bytes, as a word, the array and the texts; or empty.

        Raises ValueError where the array does not fit.
        """
        size = int.from_bytes(stored[:_WORD], "little")
        if size % _WORD or _WORD + size > max(len(stored), _WORD):
            raise ValueError(f"has an array of {size:,} bytes in {len(stored):,}")
        self._nodes: Sequence[int] = np.frombuffer(stored[_WORD : _WORD + size], "<u4").tolist()
        self._texts = stored[_WORD + size :]

    def normalized(self, text: str) -> str:
        if not self._nodes:
            return text
        return b"".join(self._pieces(text.encode())).decode("utf-8", "replace")

    def _pieces(self, text: bytes) -> Iterator[bytes]:
        place = 0
        while place < len(text):
            end, replacement = self._longest(text, place)
            if end == place:
                end += _character_size(text[place])
                replacement = text[place:end]
            yield replacement
            place = end

    def _longest(self, text: bytes, start: int) -> tuple[int, bytes]:
        """Where the longest sequence that is in the map ends, and what replaces it."""
        nodes, size = self._nodes, len(self._nodes)
        end, value = start, 0
        node = _offset(nodes[0])
        for place in range(start, len(text)):
            byte = text[place]
            node ^= byte
            if byte == 0 or node >= size or nodes[node] & (_VALUE | 0xFF) != byte:
                break
            has_leaf = nodes[node] >> 8 & 1
            node ^= _offset(nodes[node])
            if has_leaf and node < size:
                end, value = place + 1, nodes[node] & ~_VALUE
        return end, self._texts[value : self._texts.find(b"\0", value)] if end > start else b""


def _offset(node: int) -> int:
    return node >> 10 << ((node & 1 << 9) >> 6)


def _character_size(first: int) -> int:
    """Bytes of the UTF-8 character that begins with that byte."""
    return 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
