"""The text of one answer as it grows: token ids in, text that is safe to show out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llm.generate.stop_words import StopWords
from llm.text.stream import TextStream

if TYPE_CHECKING:
    from llm.text.tokenizer import Tokenizer


class Transcript:
    """Holds back half characters and what may become a stop word.

    `strip_start` drops white space before the first other character: a chat answer's own text
    starts there, and the chat format brings the space that belongs before it.
    """

    def __init__(
        self, tokenizer: "Tokenizer", stop_words: Sequence[str], *, strip_start: bool
    ) -> None:
        self._stream = TextStream(tokenizer)
        self._stop_words = StopWords(stop_words)
        self._strip_start = strip_start
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def stop_word(self) -> str | None:
        """The stop word that was found; the text ends before it."""
        return self._stop_words.found

    def push(self, token: int) -> str:
        return self._shown(self._stop_words.push(self._stripped(self._stream.push(token))))

    def finish(self) -> str:
        """What was held back. Nothing may be pushed afterwards."""
        rest = self._stop_words.push(self._stripped(self._stream.finish()))
        return self._shown(rest + self._stop_words.finish())

    def _stripped(self, piece: str) -> str:
        if self._strip_start:
            piece = piece.lstrip()
            self._strip_start = not piece
        return piece

    def _shown(self, piece: str) -> str:
        if piece:
            self._pieces.append(piece)
        return piece
