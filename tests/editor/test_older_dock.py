"""The chat's dock by the calls of Godot before 4.6."""

from pathlib import Path

from support.editor_project import EditorProject

HERE = Path(__file__).parent


def test_it_opens_answers_and_goes(project: EditorProject) -> None:
    driven = project.drive(HERE / "drive_older_dock.gd")
    assert driven.report["opened"], "by its shortcut"
    contents = [message["content"] for message in driven.report["history"]]
    assert contents == ["Is it there?", "Yes."]
    assert driven.report["left"] == 0
    assert driven.complaints == []
