"""WordPiece: what a word is, and the longest piece first."""

import time

import pytest

from llm.text.merging.word_pieces import WordPieces

TOKENS = [
    "[UNK]",
    "▁a",
    "▁ab",
    "b",
    "bc",
    "▁!",
    "▁é",
    "▁e",
    "▁A",
    "▁漢",
    "▁字",
    "c",
    "[SEP]",
    "▁[SEP]",
]


def words(text, *, lower_case=True, strip_accents=True, controls=(0, 12), unknown=0):
    tokens = [token.encode() for token in TOKENS]
    merging = WordPieces(
        tokens, controls, unknown, lower_case=lower_case, strip_accents=strip_accents
    )
    return [TOKENS[id] for id in merging.encode(text, begins=True)]


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        pytest.param(
            "abc", {}, ["▁ab", "c"], id="the longest first, even if a better cut is there"
        ),
        pytest.param("a  b\tab", {}, ["▁a", "[UNK]", "▁ab"], id="words that are unknown in whole"),
        pytest.param("abx", {}, ["[UNK]"], id="a word of known pieces and a stranger"),
        pytest.param("abx", {"unknown": None}, [], id="without an unknown token"),
        pytest.param("a!ab", {}, ["▁a", "▁!", "▁ab"], id="marks stand alone"),
        pytest.param("漢字", {}, ["▁漢", "▁字"], id="Chinese characters too"),
        pytest.param("A É", {}, ["▁a", "▁e"], id="folded"),
        pytest.param("A é", {"lower_case": False}, ["▁A", "▁e"], id="with case"),
        pytest.param("é", {"strip_accents": False}, ["▁é"], id="with accents"),
        pytest.param("a\u0301\x00\u200d\ufffdb", {}, ["▁ab"], id="what disappears"),
        pytest.param("[SEP]", {}, ["[UNK]"] * 3, id="control tokens are no pieces"),
        pytest.param("", {}, [], id="nothing"),
    ],
)
def test_encode(text, options, expected):
    assert words(text, **options) == expected


def test_the_longest_words_take_little_time():
    begin = time.perf_counter()
    assert words("a" + "bc" * 50_000)[:2] == ["▁ab", "c"]
    assert time.perf_counter() - begin < 3
