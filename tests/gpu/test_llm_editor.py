"""The LLM node in the editor, in a project of its own: shown, saved, documented; nothing loads."""

from __future__ import annotations

from typing import Any

import pytest
from support.engine_project import EngineProject

from godot import ClassDB

GROUP = 64  # PROPERTY_USAGE_GROUP


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
    assert '[sub_resource type="LLMSampling"' in report["saved"]
    assert report["saved"].count("top_k") == 1
    assert 'path = "res://style.gguf"' in report["saved"]
    assert "weight" not in report["saved"]
    assert "adapters = [SubResource(" in report["saved"]


def test_a_preset_is_chosen_in_the_inspector(report: dict[str, Any]) -> None:
    assert report["chosen"] == ["creative", 1.1, 64]
    assert "temperature = 1.1" in report["saved_chosen"]
    assert "preset" not in report["saved_chosen"]


def test_nothing_is_asked(report: dict[str, Any]) -> None:
    assert report["request"] is None


def members(class_name: str) -> list[str]:
    methods = [method["name"] for method in ClassDB.class_get_method_list(class_name, True)]
    signals = [signal["name"] for signal in ClassDB.class_get_signal_list(class_name, True)]
    infos = ClassDB.class_get_property_list(class_name, True)
    properties = [info["name"] for info in infos if info["usage"] != GROUP]
    accessors = {f"{kind}_{name}" for kind in ("get", "set") for name in properties}
    return [name for name in methods + signals + properties if name not in accessors]


@pytest.mark.parametrize(
    ("class_name", "least", "texts"),
    [
        ("LLM", 25, ("exactly one response_ended", "Gives the request's id", "The pieces joined")),
        (
            "LLMSampling",
            25,
            ("One resource may serve", "apply_preset(name: String)", "(mirostat 2)"),
        ),
        ("LLMAdapter", 2, ("One resource may serve", "1 as it was trained, 0 not at all")),
        ("LLMEmbedding", 16, ("exactly one signal of that id", "It has the length 1")),
        ("LLMMemory", 9, ("the nearest first", "from 1 up, or -1 where that failed")),
        ("LLMModelFiles", 4, ("of those in several files the first", "whether it will load here")),
    ],
)
def test_the_help_names_and_describes_every_member(
    report: dict[str, Any], class_name: str, least: int, texts: tuple[str, ...]
) -> None:
    names = members(class_name)
    assert len(names) >= least
    shown = report["help"][class_name].replace("\N{NO-BREAK SPACE}", " ")
    missing = [name for name in (*names, *texts) if name not in shown]
    assert missing == []
    assert "no description" not in shown
