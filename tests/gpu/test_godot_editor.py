"""An exposed class in the editor, in a project of its own: shown, saved, documented, not run."""

from __future__ import annotations

from typing import Any

import pytest
from support.engine_project import EngineProject


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    project = EngineProject(tmp_path_factory.mktemp("edited"), module="support.edited_classes")
    return project.editor_report("editor_check.gd")


def test_properties_show_with_hints_and_defaults(report: dict[str, Any]) -> None:
    assert report["default"] == 0.5
    assert report["level"] == 0.25
    assert report["hint"] == [1, "0,1,0.25"]


def test_a_scene_saves_what_differs(report: dict[str, Any]) -> None:
    assert 'type="EditedNode"' in report["saved"]
    assert "level = 0.25" in report["saved"]


def test_nothing_of_it_runs(report: dict[str, Any]) -> None:
    assert report["answer"] is None
    assert report["made_for_real"] == 0


def test_a_tool_class_runs_and_knows_where(report: dict[str, Any]) -> None:
    assert report["tool_answer"] is True


def test_the_help_has_the_docstrings(report: dict[str, Any]) -> None:
    shown = report["help"].replace("\N{NO-BREAK SPACE}", " ")
    for text in (
        "A node that only shows itself in the editor.",
        "It has level & no more.",
        "How <much>.",
        "Answers question.",
        "answer(question: int, again: bool = false)",
        "changed(level: float)",
        "The level is another.",
    ):
        assert text in shown, text
