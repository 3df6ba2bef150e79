"""docs/node.md: its tables of reasons and errors are those of the sources.

What its recipes do, tests/godot/test_node_recipes.gd sees.
"""

import ast
import re
from functools import cache

import pytest

from llm.generate import events
from setup.paths import ROOT

TEXT = (ROOT / "docs" / "node.md").read_text(encoding="utf-8")


def first_cells(heading: str) -> list[str]:
    """The code in the first column of the table below a heading."""
    section = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return [code for row in rows for code in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


@cache
def literals() -> list[str]:
    """Every text in the engine's sources; … stands for what is put in."""
    found: list[str] = []
    for path in (ROOT / "python" / "llm").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [
                    str(part.value) if isinstance(part, ast.Constant) else "…"
                    for part in node.values
                ]
                found.append("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return found


def test_the_reasons_are_all_that_there_are() -> None:
    known = {events.STOP, events.STOP_WORD, events.LENGTH, events.CANCELLED, events.ERROR}
    assert set(first_cells("How requests end")) == known


@pytest.mark.parametrize("error", first_cells("Errors"))
def test_an_error_is_worded_as_in_the_sources(error: str) -> None:
    pattern = re.compile(".*".join(re.escape(part) for part in error.split("…")))
    assert any(pattern.search(text) for text in literals())
