"""Links in Markdown as somebody follows them who reads it without the site."""

import re
from functools import cache
from pathlib import Path

import pytest

from check.files import tracked
from setup.paths import ROOT

FENCES = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
ELSEWHERE = ("http://", "https://", "mailto:")
GENERATED = ROOT / "docs" / "reference"


def links(text: str) -> list[str]:
    return LINK.findall(CODE.sub("", FENCES.sub("", text)))


@cache
def places(path: Path) -> set[str]:
    """The anchors of a file's headings: lower case, hyphens for blanks, no punctuation."""
    text = FENCES.sub("", path.read_text(encoding="utf-8"))
    names = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-") for name in names}


@pytest.mark.parametrize("name", tracked(".md"))
def test_links_hold(name: str) -> None:
    path = ROOT / name
    for link in links(path.read_text(encoding="utf-8")):
        if link.startswith(ELSEWHERE):
            continue
        target, _, place = link.partition("#")
        there = (path.parent / target).resolve() if target else path
        if there.is_relative_to(GENERATED):
            continue  # which only the site has; its own test follows them
        assert there.exists(), f"{name} links to {target}"
        if place:
            assert place in places(there), f"{name} links to {target}#{place}"


def test_links_in_code_are_none() -> None:
    text = "[a](b.md) `[c](d.md)`\n```\n[e](f.md)\n```\n![g](h.png#i)\n"
    assert links(text) == ["b.md", "h.png#i"]
