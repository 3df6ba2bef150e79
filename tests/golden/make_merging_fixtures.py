"""Writes what llama.cpp makes of many texts with each kind of vocabulary: merging_*.json.gz.

    make_merging_fixtures.py [NAME …]

The vocabularies are small and made on the spot, of the texts themselves; the fixtures hold them, as
settings of a file (`tokenizer.ggml.`), and variants of these, among them every pre-tokenizer that
we know. As most agree on most texts, a row holds each list of ids once, and whose it is.
"""

# ruff: noqa: E402  (a script beside the packages that it imports finds them itself)

import gzip
import json
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import sentencepiece
import xllamacpp
from golden.make_tokenizer_fixtures import Reference
from golden.tokenizer_strings import STRINGS
from golden.word_strings import WORDS
from support.trained_vocabulary import (
    BYTE,
    NORMAL,
    file_settings,
    likely_pieces,
    ranked_vocabulary,
    trained_merges,
    vocabulary_file,
    word_pieces,
)

from llm.text.merging.alphabets import VISIBLE, ByteLevel, Characters
from llm.text.merging.pre_tokenizers import PRE_TOKENIZERS

MERGES = 1500
LONGEST = 160  # characters of texts that vocabularies are made of; longer ones are monotonous
MARKERS = "markers"


def texts() -> Iterator[tuple[str, bool]]:
    """Each text, and whether control tokens are parsed in it: those with markers both ways."""
    for strings in (STRINGS, WORDS):
        for kind, group in strings.items():
            for text in group:
                yield text, False
                if kind == MARKERS:
                    yield text, True


def makings() -> list[str]:
    """What vocabularies are made of. No markers: llama.cpp would merge them from typed text."""
    found = [
        text
        for strings in (STRINGS, WORDS)
        for kind, group in strings.items()
        for text in group
        if kind != MARKERS
    ]
    prose = (HERE / "prose.txt").read_text(encoding="utf-8").splitlines()
    return [text for text in [*found, *prose] if 0 < len(text) <= LONGEST]


def rank_settings() -> dict[str, Any]:
    merges = trained_merges(makings(), ByteLevel(), MERGES)
    tokens, types = ranked_vocabulary(VISIBLE, merges)
    # Words that are tokens, and that no merges make.
    for word in ("camelCase", "Ġtrailing", "1234", "Café".encode().decode("latin-1")):
        if word not in tokens:
            tokens.append(word)
            types.append(NORMAL)
    return {"model": "gpt2", "tokens": tokens, "token_type": types, "merges": merges} | _ends(
        tokens
    )


def character_settings() -> dict[str, Any]:
    # As in Gemma 4, tokens of newlines are made by no merge.
    merges = trained_merges(
        [line for text in makings() for line in text.splitlines()], Characters(), MERGES
    )
    letters = sorted({letter for text in makings() for letter in text if letter > " "})
    kept = [letter for place, letter in enumerate(letters) if place % 9]  # others fall to bytes
    tokens, types = ranked_vocabulary(["▁", "\n", "\n\n", "\n\n\n", *kept], merges)
    tokens += [f"<0x{byte:02X}>" for byte in range(256)]
    types += [BYTE] * 256
    return {
        "model": "gemma4",
        "tokens": tokens,
        "token_type": types,
        "merges": merges,
        "add_bos_token": False,  # it is all the same
    } | _ends(tokens)


def _ends(tokens: Sequence[str]) -> dict[str, int]:
    return {
        "bos_token_id": tokens.index("<|endoftext|>"),
        "eos_token_id": tokens.index("<|im_end|>"),
    }


def word_settings() -> dict[str, Any]:
    tokens, types = word_pieces(makings(), seed=7)
    ids = {"bos": "[CLS]", "unknown": "[UNK]", "seperator": "[SEP]"}
    return {"model": "bert", "tokens": tokens, "token_type": types} | {
        f"{role}_token_id": tokens.index(text) for role, text in ids.items()
    }


def likely_settings() -> dict[str, Any]:
    tokens, types, scores = likely_pieces(makings(), seed=8)
    return {
        "model": "t5",
        "tokens": tokens,
        "token_type": types,
        "scores": scores,
        "precompiled_charsmap": list(_charsmap()),
        "eos_token_id": 1,
        "unknown_token_id": 2,
        "add_space_prefix": True,
        "remove_extra_whitespaces": True,
    }


def _charsmap() -> bytes:
    """SentencePiece's own, of what NFKC does to some characters and pairs of them."""
    rules = {
        " ": ["\t", "\n", "\r", "\u00a0", "\u3000", "\u2003"],
        "": ["\x00", "\u200b", "\ufeff"],
    }
    lines = [
        f"{_codes(source)}\t{_codes(target)}"
        for target, sources in rules.items()
        for source in sources
        if source != "\x00"
    ]
    blocks = (
        range(0xC0, 0x180),
        range(0x1E00, 0x1F00),
        range(0xFB00, 0xFB07),
        range(0xFF01, 0xFFA0),
    )
    for character in (chr(code) for block in blocks for code in block):
        for source in {character, unicodedata.normalize("NFD", character)}:
            target = unicodedata.normalize("NFKC", source)
            if target != source:
                lines.append(f"{_codes(source)}\t{_codes(target)}")
    with tempfile.TemporaryDirectory() as folder:
        rule_file, model = Path(folder) / "rules.tsv", Path(folder) / "model"
        rule_file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        sentencepiece.SentencePieceTrainer.Train(
            sentence_iterator=iter(makings()),
            model_prefix=str(model),
            vocab_size=2000,
            hard_vocab_limit=False,
            normalization_rule_tsv=str(rule_file),
            minloglevel=3,
        )
        return _field(_field(model.with_suffix(".model").read_bytes(), 3), 2)


def _codes(text: str) -> str:
    return " ".join(f"{ord(character):X}" for character in text)


def _field(message: bytes, wanted: int) -> bytes:
    """The last bytes field of that number in a protobuf message."""
    place, found = 0, b""

    def varint() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = message[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(message):
        number, wire = divmod(varint(), 8)
        if wire == 2:
            size = varint()
            if number == wanted:
                found = message[place : place + size]
            place += size
        elif wire == 0:
            varint()
        else:
            place += {1: 8, 5: 4}[wire]
    return found


def tokenized(settings: dict[str, Any], folder: str) -> list[list[int]]:
    path = vocabulary_file(file_settings(settings), Path(folder) / "small.gguf")
    reference = Reference(path)
    return [
        reference.tokenize(text, parse_special=parse_special) for text, parse_special in texts()
    ]


def write(name: str, settings: dict[str, Any], variants: Sequence[dict[str, Any]]) -> None:
    """`variants` are other values of some settings."""
    rows: list[dict[str, Any]] = [
        {"text": text, "parse_special": parse_special, "ids": [], "of": []}
        for text, parse_special in texts()
    ]
    with tempfile.TemporaryDirectory() as folder:
        for variant in variants:
            for row, ids in zip(rows, tokenized(settings | variant, folder), strict=True):
                if ids not in row["ids"]:
                    row["ids"].append(ids)
                row["of"].append(row["ids"].index(ids))
    fixture = {
        "source": f"llama.cpp in xllamacpp {xllamacpp.__version__}",
        "settings": settings,
        "variants": list(variants),
        "rows": rows,
    }
    path = HERE / f"merging_{name}.json.gz"
    path.write_bytes(gzip.compress(json.dumps(fixture, separators=(",", ":")).encode(), mtime=0))
    print(f"{path.name}: {len(rows)} rows of {len(variants)}, {path.stat().st_size:,} bytes")


def main() -> None:
    spaces = {"remove_extra_whitespaces": False}
    makers: dict[str, tuple[Callable[[], dict[str, Any]], list[dict[str, Any]]]] = {
        "characters": (character_settings, [{}]),
        "words": (
            word_settings,
            [{}, {"normalizer.lowercase": False}, {"normalizer.strip_accents": False}],
        ),
        "likely": (likely_settings, [{}, spaces, spaces | {"add_space_prefix": False}]),
        "ranks": (rank_settings, [{}, *({"pre": name} for name in PRE_TOKENIZERS)]),
    }
    for name in sys.argv[1:] or makers:
        settings, variants = makers[name]
        write(name, settings(), variants)


if __name__ == "__main__":
    main()
