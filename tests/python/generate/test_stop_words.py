"""What comes out must not depend on where the text was cut into pieces."""

from collections.abc import Sequence
from itertools import combinations, pairwise

import pytest

from llm.generate.stop_words import StopWords


def run(words: Sequence[str], pieces: Sequence[str]) -> tuple[list[str], str | None]:
    stop_words = StopWords(words)
    shown = [stop_words.push(piece) for piece in pieces]
    return [*shown, stop_words.finish()], stop_words.found


@pytest.mark.parametrize(
    ("words", "pieces", "expected", "found"),
    [
        pytest.param([], ["a", "b"], ["a", "b", ""], None, id="without words nothing is held back"),
        pytest.param(["END"], ["aEND b"], ["a", ""], "END", id="text ends before the word"),
        pytest.param(["END"], ["a E", "N", "D!"], ["a ", "", "", ""], "END", id="across three"),
        pytest.param(
            ["END"], ["E", "N", "x"], ["", "", "ENx", ""], None, id="a false start is shown"
        ),
        pytest.param(["END"], ["a E"], ["a ", "E"], None, id="the end shows what was held back"),
        pytest.param(["aab"], ["a", "a", "a", "b"], ["", "", "a", "", ""], "aab", id="overlapping"),
        pytest.param(["b", "abc"], ["abc"], ["a", ""], "b", id="the word complete first wins"),
        pytest.param(["b", "ab"], ["ab"], ["", ""], "ab", id="of two that end together the longer"),
        pytest.param(["", "x"], ["a"], ["a", ""], None, id="an empty word is no word"),
        pytest.param(["\n\n"], ["a\n", "\nb"], ["a", "", ""], "\n\n", id="line breaks"),
        pytest.param(["né"], ["an", "é"], ["a", "", ""], "né", id="letters beyond ASCII"),
        pytest.param(["x"], ["x", "y"], ["", "", ""], "x", id="nothing comes out afterwards"),
    ],
)
def test_push(words: list[str], pieces: list[str], expected: list[str], found: str | None) -> None:
    assert run(words, pieces) == (expected, found)


@pytest.mark.parametrize("words", [["abab"], ["ba", "abb"], ["bb", "abba", "a b"], ["bab", "ab"]])
def test_cuts_change_nothing(words: list[str]) -> None:
    text = "aa babb abab"
    whole, found = run(words, [text])
    places = range(1, len(text))
    for cuts in [c for count in range(4) for c in combinations(places, count)] + [tuple(places)]:
        edges = [0, *cuts, len(text)]
        pieces = [text[a:b] for a, b in pairwise(edges)]
        shown, found_here = run(words, pieces)
        assert ("".join(shown), found_here) == ("".join(whole), found), pieces
