"""Text to token ids and back, for vocabularies that merge by score (`tokenizer.ggml.model` llama).

SentencePiece does the merging; what llama.cpp does around it is done here: special tokens cut
the text first, and a leading space is repeated after each of them. One difference is wanted:
llama.cpp may merge plain characters into a control token ("</" + "s>"), which lets typed text
forge one; SentencePiece never does.

Safe to use from several threads at once: nothing changes after construction, and
SentencePiece releases the GIL while it works.
"""

from collections.abc import Collection, Container, Iterable
from typing import TYPE_CHECKING

import numpy as np
from sentencepiece import SentencePieceProcessor

from llm.errors import UnsupportedModelError
from llm.text import sentencepiece_model
from llm.text.special_tokens import SpecialTokens
from llm.text.surrogates import without_surrogates
from llm.text.vocabulary import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, Vocabulary

if TYPE_CHECKING:
    from llm.files.metadata import Metadata

_SPACE = "▁".encode()


class Tokenizer:
    def __init__(self, vocabulary: Vocabulary) -> None:
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
        self._processor = _processor(vocabulary)

    @classmethod
    def from_metadata(cls, metadata: "Metadata") -> "Tokenizer":
        """Raises UnsupportedModelError for other vocabularies, ModelFileError for damaged ones."""
        kind = metadata.str("tokenizer.ggml.model")
        if kind != "llama":
            raise UnsupportedModelError(metadata.path, "tokenizer.ggml.model", kind, ["llama"])
        return cls(Vocabulary.from_metadata(metadata))

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
        prefix = " " if self._vocabulary.add_space_prefix else ""
        due = prefix
        for part in self._special.split(
            without_surrogates(text), control=parse_special, guarded=guarded
        ):
            if isinstance(part, int):
                ids.append(part)
                due = prefix
            else:
                ids += self._processor.EncodeAsIds(due + part)
                due = ""
        return ids

    def encode_more(self, text: str) -> list[int]:
        """Token ids of text that goes on from other text: no leading space, nothing special."""
        return [int(id) for id in self._processor.EncodeAsIds(without_surrogates(text))]

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
        return text.removeprefix(" ") if self._vocabulary.add_space_prefix else text

    def piece(self, token: int) -> bytes:
        """The bytes that `token` adds to a text: perhaps half a character; none for control."""
        if token in self._silent_ids:
            return b""
        if self._types[token] == BYTE:
            return self._vocabulary.byte_of(token)
        return self._vocabulary.tokens[token].replace(_SPACE, b" ")

    def is_control(self, token: int) -> bool:
        return token in self._silent_ids

    def token_text(self, token: int) -> str:
        """The token as the vocabulary spells it, control tokens too; templates want `bos_token`."""
        return self._vocabulary.tokens[token].decode("utf-8", "replace")


def _silent_ids(vocabulary: Vocabulary) -> frozenset[int]:
    """Tokens that add nothing to a text: ends of answers, and what the file calls control."""
    silent = np.isin(vocabulary.types, (UNKNOWN, CONTROL, UNUSED))
    return vocabulary.end_ids.union(np.flatnonzero(silent).tolist())


def _processor(vocabulary: Vocabulary) -> SentencePieceProcessor:
    """SentencePiece over the same ids. Special tokens never reach it, so it may merge the rest."""
    pieces, hidden = _distinct(vocabulary.tokens)
    types = np.full(len(pieces), NORMAL, np.uint8)
    types[[*vocabulary.control_ids, *hidden]] = CONTROL
    bytes_of = {token: vocabulary.byte_of(token) for token in vocabulary.byte_ids()}
    byte_fallback = len(set(bytes_of.values()) - {b""}) == 256
    for token, byte in bytes_of.items():
        types[token] = BYTE if byte and byte_fallback and types[token] == NORMAL else CONTROL
    scores = vocabulary.scores
    unknown_id = vocabulary.unknown_id
    if byte_fallback:
        # Nothing is unknown then, but SentencePiece wants such a piece: one behind the last id.
        unknown_id = len(pieces)
        pieces.append(_unused_name(unknown_id, pieces))
        scores, types = np.append(scores, np.float32(0)), np.append(types, np.uint8(UNKNOWN))
    else:
        types[unknown_id] = UNKNOWN
    model = sentencepiece_model.serialize_model(
        pieces, scores, types, unknown_id=unknown_id, byte_fallback=byte_fallback
    )
    processor = SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    return processor


def _distinct(tokens: list[bytes]) -> tuple[list[bytes], list[int]]:
    """The tokens as SentencePiece takes them, and the ids of those that had to be renamed.

    It refuses empty pieces, NUL in pieces, and equal ones. Of equal tokens the last counts, as
    in llama.cpp; the renamed ones keep their ids and match nothing.
    """
    ids: dict[bytes, int] = {}
    for token, piece in enumerate(tokens):
        ids[piece] = token
    pieces = tokens.copy()
    if len(ids) == len(tokens) and b"" not in ids and b"\0" not in b"".join(tokens):
        return pieces, []
    hidden = [
        token
        for token, piece in enumerate(pieces)
        if not piece or b"\0" in piece or ids[piece] != token
    ]
    for token in hidden:
        pieces[token] = _unused_name(token, ids)
    return pieces, hidden


def _unused_name(token: int, taken: Container[bytes]) -> bytes:
    name = b"<unreachable %d>" % token
    while name in taken:
        name += b">"
    return name
