"""Turns token ids into text as they arrive.

A token may end in the middle of a character, so up to three bytes are held back until the
character is whole or cannot become one. Knows nothing about models, sampling or chat.
"""

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llm.text.tokenizer import Tokenizer


class TextStream:
    """The pieces that `push` and `finish` return are, joined, the text of all tokens.

    Text that continues another keeps its leading space, unlike `Tokenizer.decode`.
    """

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self._piece = tokenizer.piece
        # "replace", because a model may emit bytes that never become valid UTF-8: each run that
        # cannot begin a character becomes one U+FFFD as soon as that is certain.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token: int) -> str:
        """What can be shown now that `token` has come; often nothing."""
        return self._decoder.decode(self._piece(token))

    def finish(self) -> str:
        """What is left when no token follows: half a character becomes U+FFFD."""
        return self._decoder.decode(b"", final=True)
