"""The site as a reader's browser gets it: whole, and from nowhere else."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from setup.paths import ROOT
from website.reference import CLASS_PAGES, read

PICTURES = ROOT / "docs" / "pictures"
LARGEST_PICTURE = 150_000  # bytes
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
IN_STYLES = re.compile(r"url\(\s*[\"']?(?:https?:)?//|@import")
OWN = {"LLM", "LLMAdapter", "LLMEmbedding", "LLMMemory", "LLMSampling"}
SVG = "{http://www.w3.org/2000/svg}"


class Page(HTMLParser):
    """What a page links to, what it fetches, and the places in it that links may name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.fetched: set[str] = set()
        self.places: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if FETCHED.get(tag) in given:
            self.fetched.add(given[FETCHED[tag]])


@cache
def page_at(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def pages(site: Path) -> Iterator[Path]:
    yield from site.rglob("*.html")


def own(links: set[str]) -> Iterator[tuple[str, str]]:
    """Paths and places of links that lead to the site itself."""
    for link in links:
        parts = urlsplit(link)
        if not parts.scheme and not parts.netloc:
            yield unquote(parts.path), unquote(parts.fragment)


def test_each_document_is_a_page(site: Path) -> None:
    docs = ROOT / "docs"
    wanted = {path.relative_to(docs).with_suffix(".html") for path in docs.rglob("*.md")}
    assert wanted <= {path.relative_to(site) for path in pages(site)}


def test_links_lead_somewhere(site: Path) -> None:
    for path in pages(site):
        if path.name == "404.html":
            continue  # its links begin at the root of wherever the site is put
        for target, place in own(page_at(path).links):
            there = (path.parent / target).resolve() if target else path
            assert there.is_file(), f"{path.name} links to {target}"
            if there.suffix == ".html":
                assert place in page_at(there).places, f"{path.name} links to {target}#{place}"


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for path in pages(site):
        page = page_at(path)
        assert not [link for link in page.fetched if urlsplit(link).netloc], path.name
        text = path.read_text(encoding="utf-8")
        assert 'class="mermaid"' not in text, "its script would come from elsewhere"
        assert 'class="md-source"' not in text, "its script would ask a host for its stars"
    for path in site.rglob("*.css"):
        assert not IN_STYLES.search(path.read_text(encoding="utf-8")), path.name


def test_what_is_fetched_is_there(site: Path) -> None:
    for path in pages(site):
        for target, _ in own(page_at(path).fetched):
            if path.name != "404.html":
                assert (path.parent / target).is_file(), f"{path.name} shows {target}"


def test_a_page_finds_what_it_names(tmp_path: Path) -> None:
    """The reader of pages itself."""
    page = Page('<h2 id="a">A</h2><a href="b.html#c">B</a><img src="//x/y.png"><p name="d">')
    assert page.places == {"", "a", "d"}
    assert list(own(page.links)) == [("b.html", "c")]
    assert page.fetched == {"//x/y.png"}


def test_each_member_is_described(site: Path) -> None:
    found = [read(path) for path in sorted(CLASS_PAGES.glob("*.xml"))]
    assert {page.name for page in found} >= OWN
    for page in found:
        assert page.brief and page.description, page.name
        silent = [member.name for member in page.members if not member.description]
        assert not silent, f"{page.name} does not say what these are"
        places = page_at(site / "reference" / f"{page.name.lower()}.html").places
        assert {member.name for member in page.members} <= places


@pytest.mark.parametrize("path", sorted(PICTURES.iterdir()), ids=lambda path: path.name)
def test_pictures_are_small(path: Path) -> None:
    assert path.stat().st_size < LARGEST_PICTURE


@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.name)
def test_drawings_are_for_light_and_dark_and_say_what_they_show(path: Path) -> None:
    root = ElementTree.parse(path).getroot()
    assert root.findtext(f"{SVG}title") and root.findtext(f"{SVG}desc")
    style = root.findtext(f"{SVG}style") or ""
    assert "@media (prefers-color-scheme:dark)" in style
    colours = [set(re.findall(r"--[\w-]+(?=:)", part)) for part in style.split("@media")]
    assert colours[0] == colours[1], "each colour has one for dark pages"
