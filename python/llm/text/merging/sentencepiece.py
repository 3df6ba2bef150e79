"""Merges by score, or finds the likeliest pieces: SentencePiece, over the ids of the file.

One difference to llama.cpp is wanted: that may merge plain characters into a control token
("</" + "s>"), which lets typed text forge one; SentencePiece never does.
"""

from collections.abc import Container
from typing import TYPE_CHECKING

import numpy as np
from sentencepiece import SentencePieceProcessor

from llm.text.merging import sentencepiece_model
from llm.text.merging.sentencepiece_model import BPE, UNIGRAM
from llm.text.vocabulary import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED

if TYPE_CHECKING:
    from llm.text.vocabulary import Vocabulary

_SPACE = "▁".encode()


class SentencePiece:
    """See `Merging`. The GIL is released while it works."""

    def __init__(self, model: bytes, *, leading_space: bool, adds_space: bool) -> None:
        """`adds_space` where the model itself does not put a space before a text that begins."""
        self.leading_space = leading_space
        self._start = " " if adds_space else ""
        self._processor = SentencePieceProcessor()
        self._processor.LoadFromSerializedProto(model)

    def encode(self, text: str, *, begins: bool) -> list[int]:
        ids: list[int] = self._processor.EncodeAsIds((self._start if begins else "") + text)
        return ids

    def piece(self, token: bytes, *, is_added: bool) -> bytes:
        return token.replace(_SPACE, b" ")


def scored_pairs(vocabulary: "Vocabulary") -> SentencePiece:
    """Merges the two neighbours that make the token of the best score; a stranger is its bytes.

    The space before a text is repeated after each special token, as by llama.cpp.
    """
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
        pieces, scores, types, kind=BPE, unknown_id=unknown_id, byte_fallback=byte_fallback
    )
    adds_space = vocabulary.add_space_prefix
    return SentencePiece(model, leading_space=adds_space, adds_space=adds_space)


def likeliest_pieces(
    vocabulary: "Vocabulary", *, charsmap: bytes, joins_spaces: bool
) -> SentencePiece:
    """Unigram: the pieces whose scores, log probabilities, have the largest sum.

    `charsmap` (see `sentencepiece_model`) normalises the text first; empty, nothing does. Where
    `joins_spaces`, each word has one space before it, the first too.
    """
    pieces, hidden = _distinct(vocabulary.tokens)
    is_piece = np.isin(vocabulary.types, (NORMAL, UNUSED))
    types = np.where(is_piece, NORMAL, CONTROL).astype(np.uint8)
    types[[*vocabulary.control_ids, *hidden]] = CONTROL
    unknown_id = vocabulary.unknown_id or 0
    types[unknown_id] = UNKNOWN
    model = sentencepiece_model.serialize_model(
        pieces,
        vocabulary.scores,
        types,
        kind=UNIGRAM,
        unknown_id=unknown_id,
        charsmap=charsmap,
        joins_spaces=joins_spaces,
    )
    leading_space = joins_spaces or vocabulary.add_space_prefix
    return SentencePiece(
        model, leading_space=leading_space, adds_space=leading_space and not joins_spaces
    )


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
