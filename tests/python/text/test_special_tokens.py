"""Text is cut at special tokens: longer ones first, control tokens only where asked for."""

import time

import pytest

from llm.text.special_tokens import SpecialToken, SpecialTokens

SPECIAL = SpecialTokens(
    [
        SpecialToken(1, "<s>", control=True),
        SpecialToken(2, "<s>x", control=True),
        SpecialToken(3, "[a", control=False),
        SpecialToken(4, "a<s", control=False),
        SpecialToken(5, "\n", control=False),
        SpecialToken(6, "\n\n", control=False),
        SpecialToken(7, "<n>", control=True, swallows_space=True),
        SpecialToken(8, "", control=False),
        SpecialToken(9, "<m>", control=True, swallows_before=True),
    ]
)


@pytest.mark.parametrize(
    ("text", "control", "expected"),
    [
        pytest.param("", True, [], id="nothing gives nothing"),
        pytest.param("plain", True, ["plain"], id="plain text is one part"),
        pytest.param("u<s>v", False, ["u<s>v"], id="control tokens are text"),
        pytest.param("u<s>v", True, ["u", 1, "v"], id="control tokens cut where asked for"),
        pytest.param("<s><s>", True, [1, 1], id="no empty parts"),
        pytest.param("<s>x<s>", True, [2, 1], id="the longest that matches"),
        pytest.param("\n\n\n", False, [6, 5], id="runs from the left, longest first"),
        pytest.param("[a<s", False, ["[", 4], id="a longer token wins further right"),
        pytest.param("[a<s>x", True, [3, 2], id="the longest of all goes first"),
        pytest.param("<n> \n\n z", True, [7, "z"], id="white space swallowed before it can match"),
        pytest.param("<n> <n> ", True, [7, 7], id="white space swallowed between tokens"),
        pytest.param("u \t<m> v", True, ["u", 9, " v"], id="white space swallowed before it"),
        pytest.param(" <m> <m>", True, [9, 9], id="and between two, but no further"),
        pytest.param("<s> <m>", True, [1, 9], id="up to the token before"),
        pytest.param("<n>\u00a0z", True, [7, "\u00a0z"], id="only ASCII white space is swallowed"),
    ],
)
def test_split(text, control, expected):
    assert SPECIAL.split(text, control=control) == expected


def test_thousands_of_tokens_cost_little_where_none_occurs():
    many = SpecialTokens(SpecialToken(id, f"<unused{id}>", control=True) for id in range(6242))
    text = "a <b> c " * 12_500
    begin = time.perf_counter()
    assert many.split(text, control=True) == [text]
    # A search for each of them would take 50 times as long.
    assert time.perf_counter() - begin < 0.05
