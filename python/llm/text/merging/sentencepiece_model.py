"""Writes a SentencePiece model from a vocabulary, so that no second file is needed beside the GGUF.

The protobuf is encoded here by hand: the generated classes take seconds for 262,144 pieces,
joining prepared byte strings takes a tenth of one. Field numbers are those of
`sentencepiece_model.proto` in google/sentencepiece. Knows bytes and numbers only; which
token plays which part is decided in `vocabulary.py`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# ModelProto.SentencePiece.Type
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

BPE = 2  # TrainerSpec.ModelType

_VARINT, _BYTES, _FLOAT = 0, 2, 5  # protobuf wire types
_SCORE_AND_TYPE = 7  # bytes: tag, float32, tag, type

# Pieces at a time, so that no single call holds the GIL for more than a few milliseconds.
_CHUNK = 1 << 13


def serialize_model(
    pieces: Sequence[bytes],
    scores: NDArray[np.float32],
    types: NDArray[np.uint8],
    *,
    unknown_id: int,
    byte_fallback: bool,
) -> bytes:
    """The ModelProto of a merge-by-score vocabulary whose normaliser only turns spaces into U+2581.

    `pieces`, `scores` (V,) and `types` (V,) run in id order. SentencePiece wants the pieces
    distinct and not empty, and exactly one of them, `unknown_id`, of type UNKNOWN.
    """
    trainer = b"".join(
        [
            _tag(3, _VARINT) + _varint(BPE),
            _tag(35, _VARINT) + _varint(byte_fallback),
            _tag(40, _VARINT) + _varint(unknown_id),
        ]
    )
    normalizer = b"".join(
        [
            _delimited(1, b"identity"),
            # The tokenizer adds the leading space: llama.cpp repeats it after special tokens.
            _tag(3, _VARINT) + _varint(False),  # add_dummy_prefix
            _tag(4, _VARINT) + _varint(False),  # remove_extra_whitespaces
            _tag(5, _VARINT) + _varint(True),  # escape_whitespaces
        ]
    )
    messages = [
        _pieces(pieces[start : start + _CHUNK], scores[start:], types[start:])
        for start in range(0, len(pieces), _CHUNK)
    ]
    return b"".join([*messages, _delimited(2, trainer), _delimited(3, normalizer)])


def _pieces(
    pieces: Sequence[bytes], scores: NDArray[np.float32], types: NDArray[np.uint8]
) -> bytes:
    """The repeated field 1: every message is `head(length) + piece + tail(score, type)`."""
    count = len(pieces)
    tails = np.empty((count, _SCORE_AND_TYPE), np.uint8)
    tails[:, 0] = _tag(2, _FLOAT)[0]
    tails[:, 1:5] = np.ascontiguousarray(scores[:count], "<f4").view(np.uint8).reshape(-1, 4)
    tails[:, 5] = _tag(3, _VARINT)[0]
    tails[:, 6] = types[:count]
    tail = tails.tobytes()
    head = {length: _head(length) for length in set(map(len, pieces))}
    ends = range(_SCORE_AND_TYPE, len(tail) + 1, _SCORE_AND_TYPE)
    return b"".join(
        [
            head[len(piece)] + piece + tail[end - _SCORE_AND_TYPE : end]
            for piece, end in zip(pieces, ends, strict=True)
        ]
    )


def _head(piece_length: int) -> bytes:
    """What stands before the bytes of a piece: tag and size of the message, then its own."""
    inner = _tag(1, _BYTES) + _varint(piece_length)
    return _tag(1, _BYTES) + _varint(len(inner) + piece_length + _SCORE_AND_TYPE) + inner


def _delimited(field: int, content: bytes) -> bytes:
    return _tag(field, _BYTES) + _varint(len(content)) + content


def _tag(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _varint(value: int) -> bytes:
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)
