"""The chat's dock in the editor, used by keys as a user does."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from editor.conftest import NewProject
from support.editor_project import Driven, EditorProject

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "pictures"
QUESTION = "How do I make it jump?"
CODE = """if is_on_floor() and Input.is_action_just_pressed("ui_accept"):
    velocity.y = JUMP_SPEED"""
INSERTED = CODE.replace("\n    ", "\n\t\t")
ANSWER = f"""Set the velocity **upwards** while it stands on the floor:

```gdscript
{CODE}
```

`JUMP_SPEED` is negative, as *y* points down:

```gdscript
const JUMP_SPEED: float = -400.0
```

1. Put the constant below `SPEED`.
2. Change it until the jump is as high as you want it."""
SCRIPT = """extends CharacterBody2D

const SPEED: float = 300.0


func _physics_process(delta: float) -> void:
\tvelocity.x = Input.get_axis("ui_left", "ui_right") * SPEED
\tvelocity += get_gravity() * delta
\t
\tmove_and_slide()
"""
LONG_SCRIPT = SCRIPT + "\n" * 40 + "# A line.\n" * 300
# The driver asks a model that is not there.
KNOWN = "nothing.gguf: file: does not exist"


@pytest.fixture(scope="module")
def driven(new_project: NewProject) -> tuple[EditorProject, Driven]:
    project = new_project()
    project.write("answer.md", ANSWER)
    project.write("player.gd", LONG_SCRIPT)
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
    assert [message["content"] for message in report["history"]] == [QUESTION, ANSWER]
    assert report["shown"] == [QUESTION, ANSWER]


def test_idle_it_does_nothing(report: dict[str, Any]) -> None:
    assert report["wakes"]
    assert not report["idle_before"] and not report["idle_after"]


def test_code_goes_to_the_clipboard_and_into_the_script(report: dict[str, Any]) -> None:
    assert report["code_focused"]
    assert report["copied"] == CODE
    assert report["inserted"] == LONG_SCRIPT.replace("delta\n\t", f"delta\n\t{INSERTED}")
    assert report["undone"] == LONG_SCRIPT, "in one step"


def test_an_answer_is_stopped(report: dict[str, Any]) -> None:
    assert report["stopped"] == "cancelled"
    assert 0 < report["stopped_after"] < 7000


def test_what_was_asked_comes_back(report: dict[str, Any]) -> None:
    assert report["recalled"] == QUESTION
    assert report["typed"] == ""


def test_what_is_attached_has_a_limit_that_is_told(report: dict[str, Any]) -> None:
    name, _, amount = report["attached"].partition(" · ")
    assert name == "player.gd"
    shown, all_tokens = [int(word) for word in amount.split() if word.isdecimal()]
    assert 0 < shown <= 300 < all_tokens
    assert "_physics_process" in report["system_prompt"], "around the cursor"
    assert report["system_prompt"].count("# A line.") < 100
    assert "Main (LLM)" in report["scene"]


def test_code_takes_the_indentation_of_its_place(report: dict[str, Any]) -> None:
    assert report["indented"] == [
        "if a:\n\t\tif b:\n\t\t\tc()\n\n\t\td()",
        "if a:\n    b()",
        "a()",
    ]


def test_what_fits_is_around_the_cursor(report: dict[str, Any]) -> None:
    assert report["windows"] == ["0123456789", "456", "0123", "6789", "4", ""]


def test_a_model_that_does_not_load_is_told(report: dict[str, Any]) -> None:
    assert report["banner"].startswith("nothing.gguf")


def test_it_has_the_colours_of_the_editor(driven: tuple[EditorProject, Driven]) -> None:
    project, done = driven
    assert done.report["dark"] != done.report["light"]
    assert done.report["dark"] == done.report["dark_again"]
    for name in ("dock", "dock_light"):
        picture = project.picture(name)
        assert 20_000 < picture.stat().st_size < 150_000
        shutil.copyfile(picture, DOCS / picture.name)


def test_conversations_are_there_again(driven: tuple[EditorProject, Driven]) -> None:
    project, first = driven
    again = project.drive(HERE / "drive_dock.gd", "again", headless=True)
    assert again.report["titles"] == [QUESTION, QUESTION]
    assert [message["content"] for message in again.report["history"]] == again.report["shown"]
    assert again.report["shown"] == first.report["shown"]
