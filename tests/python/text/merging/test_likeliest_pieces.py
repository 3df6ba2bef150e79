"""Unigram: the best sum of scores, after a map of characters that may be damaged."""

import random
import time

import pytest
from support.golden_vocabulary import fixture
from support.trained_vocabulary import vocabulary_metadata

from llm.errors import ModelFileError
from llm.text.merging.charsmap import CharsMap
from llm.text.tokenizer import Tokenizer

CHARSMAP = bytes(fixture("likely")["settings"]["precompiled_charsmap"])


def made(pieces, types=None, **more):
    tokens = ["<pad>", "</s>", "<unk>", *pieces]
    return Tokenizer.from_metadata(
        vocabulary_metadata(
            {
                "model": "t5",
                "tokens": tokens,
                "scores": [0.0] * 3 + list(pieces.values()),
                "token_type": [3, 3, 2, *(types or [1] * len(pieces))],
                "eos_token_id": 1,
                "unknown_token_id": 2,
            }
            | more
        )
    )


def spelled(tokenizer, text):
    return [tokenizer.token_text(id) for id in tokenizer.encode(text)]


def test_the_best_sum_wins_and_not_the_longest_piece():
    tokenizer = made({"a": -1.0, "b": -1.0, "ab": -3.0, "bc": -1.5, "c": -2.0})
    assert spelled(tokenizer, "abc") == ["a", "bc"]
    assert spelled(tokenizer, "ab") == ["a", "b"]


def test_strangers_are_one_unknown_token():
    assert spelled(made({"a": -1.0}), "xya") == ["<unk>", "a"]
    assert spelled(made({"a": -1.0}), "axyaz") == ["a", "<unk>", "a", "<unk>"]


def test_a_whole_text_ends_and_does_not_begin():
    tokenizer = made({"a": -1.0})
    assert tokenizer.encode_whole("a") == [*tokenizer.encode("a"), 1]
    assert tokenizer.encode("") == []


def test_plain_text_makes_no_control_token():
    tokenizer = made({"<": -1.0, "/": -1.0, "s": -1.0, ">": -1.0})
    assert spelled(tokenizer, "</s>") == ["<", "/", "s", ">"]
    assert tokenizer.encode("</s>", parse_special=True) == [1]


def test_spaces_are_joined_where_the_file_says():
    pieces = {"▁": -1.0, "a": -1.0}
    assert spelled(made(pieces, remove_extra_whitespaces=True), " a  a ") == ["▁", "a", "▁", "a"]
    assert spelled(made(pieces), " a  a") == ["▁", "a", "▁", "▁", "a"]
    assert spelled(made(pieces, add_space_prefix=True), "a") == ["▁", "a"]
    assert spelled(made(pieces, add_space_prefix=True), "  ") == ["▁", "▁"]


def test_characters_are_mapped():
    charsmap = CharsMap(CHARSMAP)
    assert charsmap.normalized("ｆｕｌｌ ﬁ e\u0301 x\u3000y") == "full fi é x y"  # noqa: RUF001
    assert charsmap.normalized("plain 語 😀\x00") == "plain 語 😀\x00"
    assert CharsMap(b"").normalized("ｆ") == "ｆ"  # noqa: RUF001


@pytest.mark.parametrize("stored", [b"\1", b"\x08\0\0\0abcd", b"\xff" * 8, b"\x03\0\0\0abc\0"])
def test_a_map_that_does_not_fit_is_refused(stored):
    with pytest.raises(ModelFileError, match=r"precompiled_charsmap: has an array of"):
        made({"a": -1.0}, precompiled_charsmap=list(stored))


def test_a_damaged_map_is_harmless():
    chance = random.Random(6)
    for _ in range(200):
        damaged = bytearray(CHARSMAP)
        for _ in range(30):
            damaged[chance.randrange(4, len(damaged))] = chance.randrange(256)
        CharsMap(bytes(damaged)).normalized("ｆｕｌｌ ﬁ e\u0301 ÀÉ x\u3000y")  # noqa: RUF001


def test_long_texts_take_little_time():
    tokenizer = made({"a" * length: float(-length) for length in (1, 2, 3, 50)})
    begin = time.perf_counter()
    assert len(tokenizer.encode("a" * 50_000)) >= 1000
    assert time.perf_counter() - begin < 5
