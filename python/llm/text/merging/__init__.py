"""How plain text becomes tokens: a module for each way that vocabularies are made.

`sentencepiece` merges by score; `byte_pairs` by rank, within the words that `splitting` cuts;
`word_pieces` takes the longest piece first; `likeliest_pieces` looks for the best sum of scores.
`making` knows which one a file wants. Special tokens never come here: the tokenizer has cut them
out.
"""

from typing import Protocol


class Merging(Protocol):
    """Safe to use from several threads at once."""

    # Of a text that begins, the first piece has a space in front that the text has not.
    leading_space: bool

    def encode(self, text: str, *, begins: bool) -> list[int]:
        """Token ids of plain text, without surrogates; none of them a control token.

        `begins` is false where it goes on from other text.
        """
        ...

    def piece(self, token: bytes, *, is_added: bool) -> bytes:
        """What a token, as the vocabulary spells it, adds to a text: perhaps half a character.

        Added tokens (type user-defined) are spelled as text is.
        """
        ...
