"""The LLM node in the editor, in a project of its own: shown, saved, documented; nothing loads."""

from __future__ import annotations

from typing import Any

import pytest
from support.engine_project import EngineProject

from godot import ClassDB


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    project = EngineProject(tmp_path_factory.mktemp("edited_llm"), module="llm.nodes")
    found = project.editor_report("llm_editor_check.gd")
    assert "no_such_model" not in found["stderr"], "it tried to load"
    return found


def test_a_scene_saves_what_differs(report: dict[str, Any]) -> None:
    assert 'type="LLM"' in report["saved"]
    assert 'model_path = "res://no_such_model.gguf"' in report["saved"]
    assert "temperature = 0.25" in report["saved"]
    assert "top_k" not in report["saved"]


def test_nothing_is_asked(report: dict[str, Any]) -> None:
    assert report["request"] is None


def members(name: str) -> list[str]:
    methods = [method["name"] for method in ClassDB.class_get_method_list(name, True)]
    signals = [signal["name"] for signal in ClassDB.class_get_signal_list(name, True)]
    properties = [info["name"] for info in ClassDB.class_get_property_list(name, True)]
    accessors = {f"{kind}_{name}" for kind in ("get", "set") for name in properties}
    return [name for name in methods + signals + properties if name not in accessors]


@pytest.mark.parametrize(
    ("name", "least", "texts"),
    [
        (
            "LLM",
            25,
            ("exactly one response_ended", "Gives the request's id", "The pieces joined"),
        ),
        ("LLMEmbedding", 16, ("exactly one signal of that id", "It has the length 1")),
        ("LLMMemory", 9, ("the nearest first", "from 1 up, or -1 where that failed")),
    ],
)
def test_the_help_names_and_describes_every_member(
    report: dict[str, Any], name: str, least: int, texts: tuple[str, ...]
) -> None:
    page = report[f"help of {name}"].replace("\N{NO-BREAK SPACE}", " ")
    names = members(name)
    assert len(names) >= least
    assert [member for member in names if member not in page] == []
    assert "no description" not in page
    for text in texts:
        assert text in page
