"""Merges by score: of two neighbours in a text, those that make the token of the best score.

SentencePiece does it, over the ids of the file; a stranger is its bytes where there are tokens
for them. The space before a text is repeated after each special token, as by llama.cpp.

One difference to llama.cpp is wanted: that may merge plain characters into a control token
("</" + "s>"), which lets typed text forge one; SentencePiece never does.
"""

from collections.abc import Container
from typing import TYPE_CHECKING

import numpy as np
from sentencepiece import SentencePieceProcessor

from llm.text.merging import sentencepiece_model
from llm.text.vocabulary import BYTE, CONTROL, NORMAL, UNKNOWN

if TYPE_CHECKING:
    from llm.text.vocabulary import Vocabulary

_SPACE = "▁".encode()


class ScoredPairs:
    """See `Merging`. The GIL is released while it works."""

    def __init__(self, vocabulary: "Vocabulary") -> None:
        self.leading_space = vocabulary.add_space_prefix
        self._processor = _processor(vocabulary)

    def encode(self, text: str, *, begins: bool) -> list[int]:
        start = " " if begins and self.leading_space else ""
        ids: list[int] = self._processor.EncodeAsIds(start + text)
        return ids

    def piece(self, token: bytes, *, is_added: bool) -> bytes:
        return token.replace(_SPACE, b" ")


def _processor(vocabulary: "Vocabulary") -> SentencePieceProcessor:
    """SentencePiece over the same ids. Special tokens never reach it, so it may merge the rest."""
    pieces, hidden = _distinct(vocabulary.tokens)
    types = np.full(len(pieces), NORMAL, np.uint8)
    types[[*vocabulary.control_ids, *hidden]] = CONTROL
    bytes_of = {token: vocabulary.byte_of(token) for token in vocabulary.byte_ids()}
    byte_fallback = len(set(bytes_of.values()) - {b""}) == 256
    for token, byte in bytes_of.items():
        types[token] = BYTE if byte and byte_fallback and types[token] == NORMAL else CONTROL
    scores = vocabulary.scores
    unknown_id = vocabulary.unknown_id or 0
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
