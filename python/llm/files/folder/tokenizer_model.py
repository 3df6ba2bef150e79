"""The vocabulary of a tokenizer.model: a SentencePiece model, whose protobuf is read here by hand,
as generated classes take seconds for it. Field numbers are those of `sentencepiece_model.proto` in
google/sentencepiece.
"""

import struct
from collections.abc import Iterator

import numpy as np

from llm.errors import ModelFileError
from llm.files.folder.vocabulary import MAX_TOKENS, NORMAL, Vocabulary
from llm.files.mapping import map_any

_PIECE, _NORMALIZER = 1, 3  # fields of the model
_ADD_DUMMY_PREFIX = 3  # of the normaliser
_TEXT, _SCORE, _TYPE = 1, 2, 3  # of a piece; its types are numbered as those of GGUF
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types
_FLOAT = struct.Struct("<f")

Field = tuple[int, int | bytes]


def is_sentencepiece(path: str) -> bool:
    """Whether a file begins with a piece: some folders call another thing tokenizer.model."""
    try:
        with open(path, "rb") as file:
            return file.read(1) == bytes([_PIECE << 3 | _BYTES])
    except OSError:
        return False


def read_vocabulary(path: str) -> Vocabulary:
    """Raises ModelFileError."""
    data = bytes(map_any(path))
    tokens: list[bytes] = []
    scores: list[float] = []
    types: list[int] = []
    adds_prefix = True
    try:
        for number, value in _fields(data):
            if number == _PIECE and isinstance(value, bytes):
                text, score, kind = _piece(value)
                tokens.append(text)
                scores.append(score)
                types.append(kind)
            elif number == _NORMALIZER and isinstance(value, bytes):
                adds_prefix = bool(dict(_fields(value)).get(_ADD_DUMMY_PREFIX, True))
    except (IndexError, struct.error):
        raise ModelFileError(path, "file", "is no SentencePiece model, or cut short") from None
    if not 0 < len(tokens) <= MAX_TOKENS:
        problem = f"are {len(tokens):,}, but must be 1 to {MAX_TOKENS:,}"
        raise ModelFileError(path, "pieces", problem)
    return Vocabulary(
        "llama",
        tokens,
        np.array(types, np.int32),
        np.array(scores, np.float32),
        further={"add_space_prefix": adds_prefix},
    )


def _piece(data: bytes) -> tuple[bytes, float, int]:
    text, score, kind = b"", 0.0, NORMAL
    for number, value in _fields(data):
        if number == _TEXT and isinstance(value, bytes):
            text = value
        elif number == _SCORE and isinstance(value, bytes):
            (score,) = _FLOAT.unpack(value)
        elif number == _TYPE and isinstance(value, int):
            kind = value
    return text, score, kind


def _fields(data: bytes) -> Iterator[Field]:
    """Numbers and values, floats as their bytes; IndexError where the data end too soon."""
    position, end = 0, len(data)
    while position < end:
        tag, position = _varint(data, position)
        wire = tag & 7
        if wire == _VARINT:
            value, position = _varint(data, position)
            yield tag >> 3, value
            continue
        if wire == _BYTES:
            size, position = _varint(data, position)
        elif wire in (_FIXED32, _FIXED64):
            size = 4 if wire == _FIXED32 else 8
        else:
            raise IndexError
        if size > end - position:
            raise IndexError
        yield tag >> 3, data[position : position + size]
        position += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """The number at `position`, and what comes after it."""
    byte = data[position]
    if byte < 128:
        return byte, position + 1
    value, shift = byte & 127, 7
    while True:
        position += 1
        byte = data[position]
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position + 1
        shift += 7
        if shift > 63:
            raise IndexError
