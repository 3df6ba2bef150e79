"""Text to token ids and back, for every kind of vocabulary.

What is plain text becomes tokens in `merging`, each kind in its own way. What llama.cpp does around
that is done here: special tokens cut the text first, others begin and end it. Nowhere does plain
text become a control token, not even where llama.cpp lets it.

Safe to use from several threads at once.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import numpy as np

from llm.text.kinds import kind_of
from llm.text.merging import Merging
from llm.text.merging.making import make_merging
from llm.text.special_tokens import SpecialTokens
from llm.text.surrogates import without_surrogates
from llm.text.vocabulary import BYTE, CONTROL, UNKNOWN, UNUSED, USER_DEFINED, Vocabulary

if TYPE_CHECKING:
    from llm.files.metadata import Metadata


class Tokenizer:
    def __init__(self, vocabulary: Vocabulary, merging: Merging, warning: str = "") -> None:
        """`warning` is for the user: what had to be guessed."""
        self.vocab_size = len(vocabulary.tokens)
        self.bos_id = vocabulary.bos_id
        self.eos_id = vocabulary.eos_id
        self.add_bos = vocabulary.add_bos and vocabulary.bos_id is not None
        self.end_ids = vocabulary.end_ids
        self._vocabulary = vocabulary
        self._types = vocabulary.types.tobytes()
        self._silent_ids = _silent_ids(vocabulary)
        self._special = SpecialTokens(vocabulary.special_tokens())
        self.control_beginnings = self._special.control_beginnings
        self._merging = merging
        self.warning = warning

    @classmethod
    def from_metadata(cls, metadata: "Metadata") -> "Tokenizer":
        """Raises UnsupportedModelError for other vocabularies, ModelFileError for damaged ones."""
        kind = kind_of(metadata)
        vocabulary = Vocabulary.from_metadata(metadata, kind)
        return cls(vocabulary, make_merging(metadata, kind, vocabulary), kind.warning)

    def encode(
        self,
        text: str,
        *,
        parse_special: bool = False,
        add_bos: bool | None = None,
        guarded: Collection[int] = frozenset(),
    ) -> list[int]:
        """Token ids of `text`; `add_bos` None follows the file.

        `parse_special` turns the text of control tokens into those tokens: for templates, never
        for what a person typed, whose characters in a template are the `guarded` positions: no
        control token begins there. Lone surrogates become U+FFFD. An end-of-sequence token is
        never added, whatever the file says: text that is to be continued must not end. See
        `encode_whole`.
        """
        ids: list[int] = []
        if self.add_bos if add_bos is None else add_bos:
            ids += [] if self.bos_id is None else [self.bos_id]
        begins = True
        for part in self._special.split(
            without_surrogates(text), control=parse_special, guarded=guarded
        ):
            if isinstance(part, int):
                ids.append(part)
            else:
                ids += self._merging.encode(part, begins=begins)
            begins = isinstance(part, int)
        return ids

    def encode_more(self, text: str) -> list[int]:
        """Token ids of text that goes on from other text: no leading space, nothing special."""
        return self._merging.encode(without_surrogates(text), begins=False)

    def encode_whole(self, text: str) -> list[int]:
        """As `encode`, but of a text that nothing follows: it ends as the file says."""
        ids = self.encode(text)
        if self._vocabulary.add_eos and self.eos_id is not None:
            ids.append(self.eos_id)
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids` from its beginning, so without the leading space that `encode` adds.

        Bytes that are not UTF-8 become U+FFFD. For text that continues another use TextStream.
        """
        text = b"".join(map(self.piece, ids)).decode("utf-8", "replace")
        return text.removeprefix(" ") if self._merging.leading_space else text

    def piece(self, token: int) -> bytes:
        """The bytes that `token` adds to a text: perhaps half a character; none for control."""
        if token in self._silent_ids:
            return b""
        if self._types[token] == BYTE:
            return self._vocabulary.byte_of(token)
        is_added = self._types[token] == USER_DEFINED
        return self._merging.piece(self._vocabulary.tokens[token], is_added=is_added)

    def is_control(self, token: int) -> bool:
        return token in self._silent_ids

    def token_text(self, token: int) -> str:
        """The token as the vocabulary spells it, control tokens too; templates want `bos_token`."""
        return self._vocabulary.tokens[token].decode("utf-8", "replace")


def _silent_ids(vocabulary: Vocabulary) -> frozenset[int]:
    """Tokens that add nothing to a text: ends of answers, and what the file calls control."""
    silent = np.isin(vocabulary.types, (UNKNOWN, CONTROL, UNUSED))
    return vocabulary.end_ids.union(np.flatnonzero(silent).tolist())
