"""The chat's dock in the editor, used by keys as a user does."""

from pathlib import Path
from typing import Any

import pytest
from editor.conftest import NewProject
from support.editor_project import Driven, EditorProject

HERE = Path(__file__).parent
CODE = "func _process(delta: float) -> void:\n    if visible:\n        rotate(delta)"
ANSWER = f"Multiply by **delta**:\n\n```gdscript\n{CODE}\n```\nThe rest may stay as it is."
SCRIPT = "extends Node2D\n\n\nfunc _ready() -> void:\n\tpass\n\t\n" + "\n\n# A line." * 300
# The driver asks a model that is not there.
KNOWN = "nothing.gguf: file: does not exist"


@pytest.fixture(scope="module")
def driven(new_project: NewProject) -> tuple[EditorProject, Driven]:
    project = new_project()
    project.write("answer.md", ANSWER)
    project.write("player.gd", SCRIPT)
    return project, project.drive(HERE / "drive_dock.gd")


@pytest.fixture(scope="module")
def report(driven: tuple[EditorProject, Driven]) -> dict[str, Any]:
    return driven[1].report


def test_nothing_goes_wrong(driven: tuple[EditorProject, Driven]) -> None:
    assert [line for line in driven[1].complaints if KNOWN not in line] == []


def test_it_is_filled_when_it_is_seen(report: dict[str, Any]) -> None:
    assert not report["before"]
    assert report["opened"], "by its shortcut"


def test_it_answers(report: dict[str, Any]) -> None:
    assert report["busy"]
    assert [message["content"] for message in report["history"]] == ["How does it turn?", ANSWER]
    assert report["shown"] == ["How does it turn?", ANSWER]


def test_idle_it_does_nothing(report: dict[str, Any]) -> None:
    assert report["wakes"]
    assert not report["idle_before"] and not report["idle_after"]


def test_code_goes_to_the_clipboard_and_into_the_script(report: dict[str, Any]) -> None:
    assert report["code_focused"]
    assert report["copied"] == CODE
    tabs = "func _process(delta: float) -> void:\n\t\tif visible:\n\t\t\trotate(delta)"
    assert report["inserted"] == SCRIPT.replace("pass\n\t", f"pass\n\t{tabs}")
    assert report["undone"] == SCRIPT, "in one step"


def test_an_answer_is_stopped(report: dict[str, Any]) -> None:
    assert report["stopped"] == "cancelled"
    assert 0 < report["stopped_after"] < 7000


def test_what_was_asked_comes_back(report: dict[str, Any]) -> None:
    assert report["recalled"] == "How does it turn?"
    assert report["typed"] == ""


def test_what_is_attached_has_a_limit_that_is_told(report: dict[str, Any]) -> None:
    name, _, amount = report["attached"].partition(" · ")
    assert name == "player.gd"
    shown, all_tokens = [int(word) for word in amount.split() if word.isdecimal()]
    assert 0 < shown <= 300 < all_tokens
    assert "_ready" in report["system_prompt"], "around the cursor"
    assert report["system_prompt"].count("# A line.") < 100
    assert "Main (LLM)" in report["scene"]


def test_a_model_that_does_not_load_is_told(report: dict[str, Any]) -> None:
    assert report["banner"].startswith("nothing.gguf")


def test_it_has_the_colours_of_the_editor(driven: tuple[EditorProject, Driven]) -> None:
    project, done = driven
    assert done.report["dark"] != done.report["light"]
    assert done.report["dark"] == done.report["dark_again"]
    pictures = [project.picture(name).read_bytes() for name in ("dock", "dock_light")]
    assert pictures[0] != pictures[1]


def test_conversations_are_there_again(driven: tuple[EditorProject, Driven]) -> None:
    project, first = driven
    again = project.drive(HERE / "drive_dock.gd", "again", headless=True)
    assert again.report["titles"] == ["How does it turn?", "How does it turn?"]
    assert [message["content"] for message in again.report["history"]] == again.report["shown"]
    assert again.report["shown"] == first.report["shown"]
