"""How vocabularies that merge by rank spell text: the symbols that merging begins with."""

import re
from typing import Protocol

# U+2581, a space in vocabularies that spell text by characters.
_SPACE = "▁"


class Alphabet(Protocol):
    def prepared(self, text: str) -> str:
        """The text as it is cut into words."""
        ...

    def symbols(self, word: str) -> list[bytes]:
        """What a word is spelled with, as the vocabulary writes it."""
        ...

    def fallback(self, symbols: bytes) -> list[bytes]:
        """Tokens that stand for symbols which are no token together."""
        ...

    def piece(self, token: bytes, *, is_added: bool) -> bytes:
        """See `Merging`."""
        ...


class ByteLevel:
    """A visible character for each byte, as GPT-2 has it: nothing is unknown."""

    def prepared(self, text: str) -> str:
        return text

    def symbols(self, word: str) -> list[bytes]:
        return [_SYMBOLS[byte] for byte in word.encode()]

    def fallback(self, symbols: bytes) -> list[bytes]:
        return [symbol.encode() for symbol in symbols.decode("utf-8", "replace")]

    def piece(self, token: bytes, *, is_added: bool) -> bytes:
        if is_added:
            return token
        try:
            return token.decode().translate(_BYTES).encode("latin-1")
        except UnicodeError:  # it is not spelled in this alphabet
            return token


class Characters:
    """Characters as they are, a space as U+2581, and `<0xXX>` for each byte of a strange one."""

    def prepared(self, text: str) -> str:
        return text.replace(" ", _SPACE)

    def symbols(self, word: str) -> list[bytes]:
        return [character.encode() for character in word]

    def fallback(self, symbols: bytes) -> list[bytes]:
        return [b"<0x%02X>" % byte for byte in symbols]

    def piece(self, token: bytes, *, is_added: bool) -> bytes:
        return token if is_added else token.replace(_SPACE.encode(), b" ")


def _visible() -> list[str]:
    """By byte: printable ones of Latin-1 are themselves, the others follow from U+0100 on."""
    shown = re.compile("[!-~\xa1-\xac\xae-\xff]")
    others = iter(range(0x100, 0x200))
    return [chr(byte) if shown.fullmatch(chr(byte)) else chr(next(others)) for byte in range(256)]


VISIBLE = _visible()
_SYMBOLS = [character.encode() for character in VISIBLE]
_BYTES = {ord(character): chr(byte) for byte, character in enumerate(VISIBLE)}
