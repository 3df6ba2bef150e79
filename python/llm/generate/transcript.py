"""The text of one answer as it grows: token ids in, text that is safe to show out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llm.generate.stop_words import StopWords
from llm.text.reply import REASONING, Part, ReplyParser
from llm.text.stream import TextStream

if TYPE_CHECKING:
    from llm.text.tokenizer import Tokenizer
    from llm.text.tool_calls import ToolCall


@dataclass(frozen=True, slots=True)
class Piece:
    """What a token added, of either perhaps nothing."""

    text: str = ""  # of the answer
    reasoning: str = ""


class Transcript:
    """Holds back half characters, what may become a stop word, and what may become a marker.

    With a `parser` reasoning and calls of tools are told apart from the answer, which then starts
    at its first character that is no white space; a chat format brings what belongs before it.
    Stop words are looked for in the answer alone.
    """

    def __init__(
        self, tokenizer: "Tokenizer", stop_words: Sequence[str], parser: ReplyParser | None
    ) -> None:
        self._tokenizer = tokenizer
        self._stream = TextStream(tokenizer)
        self._stop_words = StopWords(stop_words)
        self._parser = parser
        self._is_at_start = parser is not None
        self._texts: list[str] = []
        self._reasonings: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self._texts)

    @property
    def reasoning(self) -> str:
        return "".join(self._reasonings)

    @property
    def calls(self) -> "tuple[ToolCall, ...]":
        return () if self._parser is None else tuple(self._parser.calls)

    @property
    def faults(self) -> tuple[str, ...]:
        """Of calls that cannot be read, in words for the model."""
        return () if self._parser is None else tuple(self._parser.faults)

    @property
    def is_thinking(self) -> bool:
        return self._parser is not None and self._parser.is_thinking

    @property
    def stop_word(self) -> str | None:
        """The stop word that was found; the text ends before it."""
        return self._stop_words.found

    def push(self, token: int) -> Piece:
        text = self._stream.push(token)
        if self._parser is None:
            return self._kept(self._stop_words.push(text))
        if self._tokenizer.is_control(token):
            marker = self._tokenizer.token_text(token)
            text += marker if marker in self._parser.markers else ""
        return self._sorted(self._parser.push(text))

    def finish(self) -> Piece:
        """What was held back. Nothing may be pushed afterwards."""
        text = self._stream.finish()
        if self._parser is None:
            rest = Piece(self._stop_words.push(text))
        else:
            rest = self._split([*self._parser.push(text), *self._parser.finish()])
        return self._kept(rest.text + self._stop_words.finish(), rest.reasoning)

    def _sorted(self, parts: Sequence[Part]) -> Piece:
        found = self._split(parts)
        return self._kept(found.text, found.reasoning)

    def _split(self, parts: Sequence[Part]) -> Piece:
        said = "".join(part.text for part in parts if part.kind != REASONING)
        if self._is_at_start:
            said = said.lstrip()
            self._is_at_start = not said
        thought = "".join(part.text for part in parts if part.kind == REASONING)
        return Piece(self._stop_words.push(said), thought)

    def _kept(self, text: str, reasoning: str = "") -> Piece:
        if text:
            self._texts.append(text)
        if reasoning:
            self._reasonings.append(reasoning)
        return Piece(text, reasoning)
