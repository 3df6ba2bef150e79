"""The vocabulary that a tokenizer.json describes, as a converter would write it."""

import base64
import re
from collections.abc import Mapping
from itertools import chain, repeat
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.folder.vocabulary import (
    BYTE,
    MAX_TOKENS,
    NORMAL,
    UNKNOWN,
    UNUSED,
    Vocabulary,
)
from llm.files.wording import quoted

_BYTE: Final = re.compile(rb"<0x[0-9A-F]{2}>")


# Tokens of Gemma 4 that are marked as control, and shape what it says of thoughts and tools.
_VISIBLE: Final = frozenset(
    (
        "<|channel>",
        "<channel|>",
        "<|tool_call>",
        "<tool_call|>",
        "<|tool_response>",
        "<tool_response|>",
        '<|"|>',
    )
)


def read_vocabulary(
    path: str, found: Mapping[str, Any], *, by_characters: bool = False
) -> Vocabulary:
    """The vocabulary of a tokenizer.json. Raises ModelFileError, UnsupportedModelError.

    `by_characters`: as Gemma 4 has it, whose pairs of characters merge in an order of their own.
    """
    model = found.get("model")
    if not isinstance(model, dict):
        raise ModelFileError(path, "model", "is no object")
    kind = model.get("type", "BPE" if "merges" in model else None)
    if kind == "BPE":
        return _bpe(path, model, by_characters=by_characters)
    if kind == "WordPiece":
        return _word_piece(path, model, found)
    if kind == "Unigram":
        return _unigram(path, model, found)
    raise UnsupportedModelError(path, "model.type", kind, ["BPE", "Unigram", "WordPiece"])


def _bpe(path: str, model: Mapping[str, Any], *, by_characters: bool) -> Vocabulary:
    vocab = _checked_vocab(path, model)
    tokens, types = _tokens(vocab)
    merges = _merges(path, model.get("merges"))
    if model.get("byte_fallback") is not True:
        return Vocabulary("gpt2", tokens, types, merges=[f"{a} {b}".encode() for a, b in merges])
    for byte in range(256):
        types[vocab.get(f"<0x{byte:02X}>", [])] = BYTE
    if isinstance(unknown := model.get("unk_token"), str):
        types[vocab.get(unknown, [])] = UNKNOWN
    if by_characters:
        further = {"add_space_prefix": False}
        pairs = [f"{a} {b}".encode() for a, b in merges]
        return Vocabulary("gemma4", tokens, types, merges=pairs, further=further, visible=_VISIBLE)
    # Made of a SentencePiece model, whose scores are the order of its merges.
    last = len(merges)
    made = [a + b for a, b in reversed(merges)]
    ranks = dict(zip(made, range(last - 1, -1, -1), strict=True))  # of many the first
    scores = np.full(len(tokens), -last, np.float32)
    ranked = np.fromiter(map(ranks.get, vocab, repeat(last)), np.float32, len(vocab))
    scores[list(vocab.values())] = -ranked
    return Vocabulary("llama", tokens, types, scores)


def _word_piece(path: str, model: Mapping[str, Any], found: Mapping[str, Any]) -> Vocabulary:
    """GGUF marks where a word begins, not where one goes on."""
    tokens, types = _tokens(_checked_vocab(path, model))
    prefix = str(model.get("continuing_subword_prefix", "##")).encode()
    marked = [
        token
        if token[:1] == b"[" and token[-1:] == b"]"
        else token.removeprefix(prefix)
        if token.startswith(prefix)
        else "▁".encode() + token
        for token in tokens
    ]
    further = {
        f"normalizer.{key}": part[key]
        for part in parts_of(found.get("normalizer"))
        for key in ("lowercase", "strip_accents")
        if isinstance(part.get(key), bool)
    }
    return Vocabulary("bert", marked, types, further=further)


def _unigram(path: str, model: Mapping[str, Any], found: Mapping[str, Any]) -> Vocabulary:
    pieces = model.get("vocab")
    if not isinstance(pieces, list) or len(pieces) > MAX_TOKENS:
        raise ModelFileError(path, "model.vocab", f"is no list of up to {MAX_TOKENS:,} pieces")
    for piece in pieces:
        if not (isinstance(piece, list) and len(piece) == 2 and isinstance(piece[0], str)):
            raise ModelFileError(path, "model.vocab", "has a piece that is not text and score")
        if type(piece[1]) not in (int, float):
            raise ModelFileError(path, "model.vocab", f"has no score for {quoted(piece[0])}")
    tokens = [text.encode("utf-8", "replace") for text, _ in pieces]
    types = np.full(len(tokens), NORMAL, np.int32)
    unknown = model.get("unk_id")
    if type(unknown) is int and 0 <= unknown < len(tokens):
        types[unknown] = UNKNOWN
    further: dict[str, Any] = {}
    for part in parts_of(found.get("normalizer")):
        if isinstance(charsmap := part.get("precompiled_charsmap"), str):
            try:
                decoded = base64.b64decode(charsmap, validate=True)
            except ValueError:
                raise ModelFileError(path, "precompiled_charsmap", "is not base 64") from None
            further["precompiled_charsmap"] = np.frombuffer(decoded, np.uint8)
    scores = np.array([score for _, score in pieces], np.float32)
    return Vocabulary("t5", tokens, types, scores, further=further)


def _checked_vocab(path: str, model: Mapping[str, Any]) -> dict[str, int]:
    """Ids by token."""
    vocab = model.get("vocab")
    if not isinstance(vocab, dict) or not vocab:
        raise ModelFileError(path, "model.vocab", "is no object of tokens and ids")
    ids = vocab.values()
    if set(map(type, ids)) != {int} or min(ids) < 0 or max(ids) >= MAX_TOKENS:
        raise ModelFileError(path, "model.vocab", f"has an id outside 0 to {MAX_TOKENS - 1:,}")
    return vocab


def _tokens(vocab: Mapping[str, int]) -> tuple[list[bytes], NDArray[np.int32]]:
    """Tokens by id, and their types; what has none is named as converters do."""
    size = max(vocab.values()) + 1
    tokens = [b""] * size
    types = np.full(size, UNUSED, np.int32)
    types[list(vocab.values())] = NORMAL
    for token, id in vocab.items():
        tokens[id] = token.encode("utf-8", "replace")
    for id in np.flatnonzero(types == UNUSED).tolist():
        tokens[id] = b"[PAD%d]" % id
    return tokens, types


def _merges(path: str, merges: Any) -> list[tuple[str, str]]:
    """Pairs; older files store them as one text."""
    if not isinstance(merges, list):
        raise ModelFileError(path, "model.merges", "is no list")
    pairs: list[Any] = merges
    if str in set(map(type, merges)):
        pairs = [merge.split(" ", 1) if isinstance(merge, str) else merge for merge in merges]
    are_pairs = set(map(type, pairs)) <= {list} and set(map(len, pairs)) <= {2}
    if not are_pairs or not set(map(type, chain.from_iterable(pairs))) <= {str}:
        raise ModelFileError(path, "model.merges", "has an entry that is not two tokens")
    return pairs


def parts_of(value: Any) -> list[dict[str, Any]]:
    """A normalizer, pre-tokenizer or post-processor, or those that it is a sequence of."""
    if not isinstance(value, dict):
        return []
    inner = [value.get(key) for key in ("normalizers", "pretokenizers", "processors", "decoders")]
    lists = [parts for parts in inner if isinstance(parts, list)]
    if value.get("type") != "Sequence" or not lists:
        return [value]
    return [part for part in lists[0] if isinstance(part, dict)]
