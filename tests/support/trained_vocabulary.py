"""Small vocabularies of the kinds that real files have, made of texts at hand.

Merges cross words and lines on purpose: then it shows in the ids where a text is cut.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from support.gguf_builder import GgufBuilder

from llm.files.metadata import Metadata
from llm.text.merging.alphabets import Alphabet

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

SPECIAL = {"<|endoftext|>": CONTROL, "<|im_start|>": CONTROL, "<|im_end|>": CONTROL}
ADDED = {"<tool>": USER_DEFINED}


def trained_merges(texts: Iterable[str], alphabet: Alphabet, count: int) -> list[str]:
    """`count` merges, each of the two neighbours that are the most frequent then."""
    rows = [alphabet.symbols(alphabet.prepared(text)) for text in texts]
    merges = []
    for _ in range(count):
        pairs = Counter(pair for row in rows for pair in pairwise(row))
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(b" ".join(best).decode())
        rows = [_with_merge(row, best) for row in rows]
    return merges


def _with_merge(row: Sequence[bytes], pair: tuple[bytes, bytes]) -> list[bytes]:
    if pair[0] not in row:
        return list(row)
    merged: list[bytes] = []
    for symbol in row:
        if merged and (merged[-1], symbol) == pair and symbol:
            merged[-1] = pair[0] + pair[1] + b"\0"  # no left neighbour of the next pair
        else:
            merged.append(symbol)
    return [symbol.removesuffix(b"\0") for symbol in merged]


def ranked_vocabulary(symbols: Iterable[str], merges: Sequence[str]) -> tuple[list[str], list[int]]:
    """Tokens and types: special tokens, symbols, what the merges make."""
    named = SPECIAL | ADDED
    made = dict.fromkeys([*symbols, *(merge.replace(" ", "") for merge in merges)])
    tokens = [*named, *(token for token in made if token not in named)]
    return tokens, [*named.values(), *[NORMAL] * (len(tokens) - len(named))]


def word_pieces(texts: Iterable[str], seed: int) -> tuple[list[str], list[int]]:
    """Tokens and types as files of kind bert have them: beginnings of words and what may follow."""
    chance = random.Random(seed)
    words = sorted({word for text in texts for word in text.lower().replace("\0", "").split()})
    pieces = set()
    for word in words:
        letters = [letter for letter in word if chance.random() < 0.97]
        pieces.update(letters)
        pieces.update("▁" + letter for letter in letters)
        end = chance.randrange(len(word)) + 1
        pieces.add("▁" + word[:end])
        start = chance.randrange(len(word))
        pieces.add(word[start : start + chance.randrange(1, 6)])
    named = {"[PAD]": CONTROL, "[UNK]": CONTROL, "[CLS]": CONTROL, "[SEP]": CONTROL}
    named |= {"[MASK]": CONTROL, "<tool>": USER_DEFINED}
    tokens = [*named, *sorted(pieces - set(named))]
    return tokens, [*named.values(), *[NORMAL] * (len(tokens) - len(named))]


def likely_pieces(texts: Iterable[str], seed: int) -> tuple[list[str], list[int], list[float]]:
    """Tokens, types and scores as files of kind t5 have them."""
    chance = random.Random(seed)
    named = {"<pad>": CONTROL, "</s>": CONTROL, "<unk>": UNKNOWN, "<tool>": USER_DEFINED}
    pieces = {"▁"}
    for text in texts:
        shown = "▁" + text.replace(" ", "▁")
        pieces.update(letter for letter in shown if letter > " " and chance.random() < 0.97)
        for _ in range(len(shown) // 4):
            start = chance.randrange(len(shown))
            pieces.add(shown[start : start + chance.randrange(1, 9)])
    kept = sorted(piece for piece in pieces - set(named) if piece and "\0" not in piece)
    scores = [0.0] * len(named) + [round(chance.uniform(-14.0, -3.0), 4) for _ in kept]
    types = [UNUSED if chance.random() < 0.02 else NORMAL for _ in kept]
    return [*named, *kept], [*named.values(), *types], scores


def file_settings(stored: dict[str, Any]) -> dict[str, Any]:
    """As GgufBuilder takes them, of what JSON has."""
    arrays = {"token_type": np.int32, "scores": np.float32, "precompiled_charsmap": np.uint8}
    return {
        key: np.array(value, arrays[key]) if key in arrays else value
        for key, value in stored.items()
    }


def vocabulary_metadata(stored: dict[str, Any]) -> Metadata:
    """As a file of these settings gives them."""
    values = {
        key: [text.encode() for text in value] if isinstance(value, list) else value
        for key, value in file_settings(stored).items()
    }
    return Metadata({f"tokenizer.ggml.{key}": value for key, value in values.items()}, "m.gguf")


def vocabulary_file(settings: dict[str, Any], path: Path) -> str:
    """A llama model of one empty layer, for llama.cpp; `settings` are `tokenizer.ggml.` keys."""
    width = 32
    builder = GgufBuilder()
    builder.add("general.architecture", "llama").add("general.name", "small")
    for key, value in {
        "context_length": 64,
        "embedding_length": width,
        "block_count": 1,
        "feed_forward_length": width,
        "attention.head_count": 1,
        "attention.layer_norm_rms_epsilon": 1e-5,
    }.items():
        builder.add(f"llama.{key}", value)
    for key, value in settings.items():
        builder.add(f"tokenizer.ggml.{key}", value)
    matrices = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]
    shapes = {"token_embd": (len(settings["tokens"]), width), "output_norm": (width,)}
    shapes |= {f"blk.0.{matrix}": (width, width) for matrix in matrices}
    shapes |= {f"blk.0.{norm}": (width,) for norm in ("attn_norm", "ffn_norm")}
    for tensor, shape in shapes.items():
        builder.tensor(f"{tensor}.weight", shape, "f32", np.zeros(shape, np.float32))
    return builder.write(path)
