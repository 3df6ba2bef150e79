"""A class's page in the editor's help as a page of the site."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from setup.paths import CACHE

CLASS_PAGES = CACHE / "class_pages"  # class_pages.py writes them
_CODE = re.compile(r"\[code\](.*?)\[/code\]", re.DOTALL)
_REFERENCE = re.compile(r"\[(?:(?:method|member|signal) ([\w.]+)|param (\w+)|([A-Z]\w+))\]")
_AROUND = ", \n"
_ABOUT = (
    "What the add-on brings: the texts are those that the editor shows under F1. How the parts go "
    "together is in the [recipes](../recipes.md)."
)
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|])")


@dataclass(frozen=True)
class Member:
    """A property, a method or a signal; `signature` is as GDScript declares it."""

    name: str
    signature: str
    description: str


@dataclass(frozen=True)
class ClassPage:
    """Descriptions are in the engine's own markup, a line a paragraph."""

    name: str
    parent: str
    brief: str
    description: str
    properties: tuple[Member, ...]
    methods: tuple[Member, ...]
    signals: tuple[Member, ...]

    @property
    def members(self) -> tuple[Member, ...]:
        return (*self.properties, *self.methods, *self.signals)


def read(path: Path) -> ClassPage:
    """A file that class_pages.py has written."""
    root = ElementTree.parse(path).getroot()
    return ClassPage(
        root.attrib["name"],
        root.attrib["inherits"],
        root.findtext("brief_description", ""),
        root.findtext("description", ""),
        tuple(_property(entry) for entry in root.iterfind("members/member")),
        tuple(_method(entry) for entry in root.iterfind("methods/method")),
        tuple(_signal(entry) for entry in root.iterfind("signals/signal")),
    )


def _property(entry: ElementTree.Element) -> Member:
    name, default = entry.attrib["name"], entry.attrib["default"]
    signature = f"var {name}: {entry.attrib['type']} = {default}"
    return Member(name, signature, entry.text or "")


def _method(entry: ElementTree.Element) -> Member:
    name = entry.attrib["name"]
    static = "static " if entry.get("qualifiers") == "static" else ""
    result = entry.find("return")
    assert result is not None
    signature = f"{static}func {name}({_parameters(entry)}) -> {result.attrib['type']}"
    return Member(name, signature, entry.findtext("description", ""))


def _signal(entry: ElementTree.Element) -> Member:
    name = entry.attrib["name"]
    parameters = _parameters(entry)
    signature = f"signal {name}({parameters})" if parameters else f"signal {name}"
    return Member(name, signature, entry.findtext("description", ""))


def _parameters(entry: ElementTree.Element) -> str:
    parts = []
    for given in entry.iterfind("param"):
        default = f" = {given.attrib['default']}" if "default" in given.attrib else ""
        parts.append(f"{given.attrib['name']}: {given.attrib['type']}{default}")
    return ", ".join(parts)


def index(pages: Iterable[ClassPage]) -> str:
    """A page that leads to those of all classes."""
    rows = [
        f"| [`{page.name}`]({file_name(page.name)}) | `{page.parent}` | {_escaped(page.brief)} |"
        for page in pages
    ]
    head = ["# Node reference", "", _ABOUT, "", "| class | inherits | |", "| --- | --- | --- |"]
    return "\n".join([*head, *rows]) + "\n"


def file_name(class_name: str) -> str:
    return f"{class_name.lower()}.md"


def markdown(page: ClassPage, known: Collection[str]) -> str:
    """The page; classes that are `known` have one beside it."""

    def prose(text: str) -> str:
        return "\n\n".join(_prose(line, page, known) for line in text.split("\n"))

    parts = [f"# {page.name}", f"*{prose(page.brief)}* Inherits `{page.parent}`."]
    parts.append(prose(page.description))
    for heading, members in (
        ("Properties", page.properties),
        ("Methods", page.methods),
        ("Signals", page.signals),
    ):
        if members:
            parts.append(f"## {heading}")
        for member in members:
            parts.append(f"### {_escaped(member.name)} {{ #{member.name} }}")
            parts.append(f"```gdscript\n{member.signature}\n```")
            parts.append(prose(member.description))
    return "\n\n".join(parts) + "\n"


def _prose(text: str, page: ClassPage, known: Collection[str]) -> str:
    """One paragraph of the engine's markup as Markdown."""
    parts = _CODE.split(text)  # texts and codes by turns
    for place, part in enumerate(parts):
        if place % 2:
            parts[place] = _code(part)
        else:
            pieces = _REFERENCE.split(part)  # a text, then a name in one of three groups
            for at in range(0, len(pieces), 4):
                pieces[at] = _escaped(pieces[at])
            for at in range(1, len(pieces), 4):
                target, parameter, class_name = pieces[at : at + 3]
                linked = _link(target or class_name or "", page, known)
                pieces[at : at + 3] = [f"`{parameter}`" if parameter else linked, "", ""]
            parts[place] = "".join(pieces)
    return "".join(parts)


def _link(target: str, page: ClassPage, known: Collection[str]) -> str:
    """To a class, or a member of this class or another; the engine's own are named, no more."""
    owner, _, name = target.rpartition(".")
    if not owner and target in {member.name for member in page.members}:
        return f"[`{target}`](#{target})"
    if target in known:
        return f"[`{target}`]({file_name(target)})"
    if owner in known:
        return f"[`{target}`]({file_name(owner)}#{name})"
    return f"`{target}`"


def _code(text: str) -> str:
    """Commas and blanks at its ends stand outside: some lists of codes are cut by a remark."""
    bare = text.strip(_AROUND)
    if not bare:
        return text
    before, _, after = text.partition(bare)
    fence = "``" if "`" in bare else "`"
    return f"{before}{fence}{bare}{fence}{after}"


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", text)
