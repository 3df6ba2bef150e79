"""Words are cut by patterns over categories, each within the pieces of the one before."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.text.merging.pre_tokenizers import PRE_TOKENIZERS, PreTokenizer
from llm.text.merging.splitting import Splitter


@pytest.mark.parametrize(
    ("patterns", "text", "words"),
    [
        pytest.param([r"\p{L}+"], "", [], id="nothing"),
        pytest.param([r"\p{L}+"], "aß語ǅʰ1!", ["aß語ǅʰ", "1!"], id="all letters; what is between"),
        pytest.param([r"[\p{N}x]+"], "a1x½٣b", ["a", "1x½٣", "b"], id="within a set"),
        pytest.param([r"\p{Lu}\p{Ll}+"], "ÀéÉab", ["Àé", "Éab"], id="letters by case"),
        pytest.param([r"\p{Han}+"], "漢字かな", ["漢字", "かな"], id="Chinese characters"),
        pytest.param([r"\p{M}"], "e\u0301a", ["e", "\u0301", "a"], id="marks"),
        pytest.param([r"[^\s\p{L}]+"], "a\u3000!b", ["a\u3000", "!", "b"], id="wide white space"),
        pytest.param(
            [r"\p{S}|\p{P}"], "a~€,。", ["a", "~", "€", ",", "。"], id="symbols and marks"
        ),
        pytest.param([r"[語a]"], "a語b", ["a", "語", "b"], id="characters themselves"),
        pytest.param([r"b", r"^a+"], "aabaa", ["aa", "b", "aa"], id="within pieces"),
        pytest.param([r"b", r"a(?!b)"], "aab", ["a", "a", "b"], id="no look beyond a piece"),
        pytest.param([r"(?=b)"], "abab", ["a", "ba", "b"], id="empty matches"),
        pytest.param([r"\d+"], "1٣", ["1", "٣"], id="digits of ASCII"),
    ],
)
def test_split(patterns, text, words):
    assert Splitter(patterns).split(text) == words


@pytest.mark.parametrize("pattern", [r"\p{Xx}", "("])
def test_a_wrong_pattern_is_an_error(pattern):
    with pytest.raises(re.error):
        Splitter([pattern])


DISTINCT = {pre.patterns: name for name, pre in PRE_TOKENIZERS.items()}.values()


@settings(deadline=None, derandomize=True, database=None, max_examples=100)
@given(st.text(max_size=60))
def test_words_are_the_text(text):
    for name in DISTINCT:
        assert "".join(Splitter(PRE_TOKENIZERS[name].patterns).split(text)) == text


SIZE = 30_000
LONG = {
    "spaces": " " * SIZE + "x",
    "newlines": "\n" * SIZE + "x",
    "letters": "a" * SIZE,
    "capitals": "A" * SIZE,
    "Chinese": "語" * SIZE,
    "digits": "1" * (SIZE + 1),
    "digits before a letter": "1" * SIZE + "a",
    "marks": "!" * SIZE,
    "combining marks": "\u0301" * SIZE,
    "apostrophes": "'" * SIZE,
    "letters and spaces": "a " * (SIZE // 2),
    "spaces and letters": "  a" * (SIZE // 3),
}


@pytest.mark.parametrize("name", DISTINCT)
def test_no_text_takes_long(name):
    splitter = Splitter(PRE_TOKENIZERS[name].patterns)
    for kind, text in LONG.items():
        begin = time.perf_counter()
        splitter.split(text)
        # A pattern that looks through the rest of a text from each of its places takes minutes.
        assert time.perf_counter() - begin < 1, kind


def test_rules_beside_the_patterns():
    assert PRE_TOKENIZERS["llama-bpe"] is PRE_TOKENIZERS["llama3"]
    assert PRE_TOKENIZERS["tekken"].add_bos
    assert PRE_TOKENIZERS["tekken"].takes_whole_words
    assert PreTokenizer(PRE_TOKENIZERS["qwen2"].patterns) == PRE_TOKENIZERS["qwen2"]
