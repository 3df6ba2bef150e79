"""What the pages say in the project's own words is what the sources say.

What recipes do, tests/godot/test_node_recipes.gd sees.
"""

import ast
import re
from functools import cache

import pytest

from llm.generate import events
from setup.paths import ROOT

DOCS = ROOT / "docs"
FORMAT = re.compile(r"%[-+#0 .*\d]*[a-zA-Z]")
QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
PIECES = re.compile(r'"\s*(?:[A-Z_]+\s*)?"')  # literals in a row, perhaps with a macro in between


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def headings(name: str) -> list[str]:
    """The codes that entries of a page are headed with."""
    lines = [line for line in page(name).splitlines() if line.startswith("### ")]
    return [code for line in lines for code in re.findall(r"`([^`]+)`", line)]


def example(text: str) -> str:
    """The first block of GDScript."""
    return text.split("```gdscript\n")[1].split("```")[0]


@cache
def literals() -> list[str]:
    """Every text in the sources; … stands for what is put in."""
    found: list[str] = []
    for folder in ("python", "tools"):
        for path in (ROOT / folder).rglob("*.py"):
            found += python_literals(path.read_text(encoding="utf-8"))
    for pattern in ("native/**/*.c", "**/*.gd"):
        for path in (ROOT / "addons" / "llm").glob(pattern):
            text = PIECES.sub("", path.read_text(encoding="utf-8"))
            found += [FORMAT.sub("…", literal) for literal in QUOTED.findall(text)]
    return found


def python_literals(source: str) -> list[str]:
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts = [
                str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
            ]
            found.append("".join(parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return found


def test_literals_that_are_not_there_are_not_found() -> None:
    assert not said("the moon is still being answered")


def said(text: str) -> bool:
    pattern = re.compile(".*".join(re.escape(part) for part in text.split("…")), re.DOTALL)
    return any(pattern.search(literal) for literal in literals())


def test_the_page_of_errors_has_many() -> None:
    assert len(headings("troubleshooting")) >= 40


@pytest.mark.parametrize("error", headings("troubleshooting"))
def test_an_error_is_worded_as_in_the_sources(error: str) -> None:
    assert said(error)


def test_the_reasons_are_all_that_there_are() -> None:
    section = page("recipes").split("\n## How requests end\n")[1]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    named = {row.split("`")[1] for row in rows}
    assert named == {events.STOP, events.STOP_WORD, events.LENGTH, events.CANCELLED, events.ERROR}


def test_the_first_script_is_that_of_the_readme() -> None:
    """Which tests/godot/test_readme.gd runs."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert example(page("start")) == example(readme)


@pytest.mark.parametrize("command", sorted(set(re.findall(r"\./llm ([a-z]+)", page("start")))))
def test_commands_are_there(command: str) -> None:
    from setup.main import _usage

    assert f"\n  {command} " in _usage()
