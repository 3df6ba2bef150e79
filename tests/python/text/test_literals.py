"""Calls written like a program are read without Python's parser, and to the letter."""

import pytest

from llm.text.literals import LiteralReader


def calls(text):
    return list(LiteralReader(text).calls())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f()", [("f", {})]),
        ("[f(), g.h()]", [("f", {}), ("g.h", {})]),
        ("call:f{}", [("f", {})]),
        ("call:f{a:1}call:g{}", [("f", {"a": 1}), ("g", {})]),
        (" [ f ( a = 1 , ) ] ", [("f", {"a": 1})]),
        ("f(a=-1, b=2.0, c=1e3, d=.5)", [("f", {"a": -1, "b": 2.0, "c": 1000.0, "d": 0.5})]),
        ("f(a=True, b=false, c=None)", [("f", {"a": True, "b": False, "c": None})]),
        ("f(__a='x', class=\"y\")", [("f", {"__a": "x", "class": "y"})]),
        ("f(a=['x', [1], {}], b={'k': w})", [("f", {"a": ["x", [1], {}], "b": {"k": "w"}})]),
        (r"f(a='it\'s \n \x41 \u00e9 \q')", [("f", {"a": "it's \n A é q"})]),
        (r'f(a="\ud83d\ude00 \ud83d")', [("f", {"a": "😀 \ufffd"})]),
        ("f(a=sky)", [("f", {"a": "sky"})]),
        ('call:f{a:<|"|>x, {y}: "z"<|"|>}', [("f", {"a": 'x, {y}: "z"'})]),
        ('call:f{<|"|>k e y<|"|>:1}', [("f", {"k e y": 1})]),
        ("call:f{a:<escape>it's<escape>}", [("f", {"a": "it's"})]),
        # Python's own parser would call it "fi".
        ("f(\ufb01=1)", [("f", {"\ufb01": 1})]),
    ],
)
def test_calls(text, expected):
    assert calls(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "at character 0 there must be the name of a tool"),
        ("f", "at character 1 there must be ( or {"),
        ("f(1)", "at character 3 there must be ="),
        ("f(a=)", "at character 4 there must be a value"),
        ("f(a='x)", "at character 7 there must be '"),
        ("f(a=1", "at character 5 there must be , or )"),
        ("f(a=[1 2])", "at character 7 there must be , or ]"),
        ("[f()", "at character 4 there must be the name of a tool"),
        ("[f()] x", "at character 6 there must be the end"),
        ('call:f{a:<|"|>x}', 'at character 14 there must be <|"|>'),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text, problem):
    with pytest.raises(ValueError, match="at character") as error:
        calls(text)
    assert str(error.value) == problem
