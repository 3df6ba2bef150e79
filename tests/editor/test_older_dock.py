"""The chat's dock by the calls of Godot before 4.6."""

from pathlib import Path

from editor.conftest import NewProject

HERE = Path(__file__).parent


def test_it_opens_answers_and_goes(new_project: NewProject) -> None:
    """In a project of its own, as it leaves the editor's layout with a dock of another kind."""
    driven = new_project().drive(HERE / "drive_older_dock.gd")
    assert driven.report["opened"], "by its shortcut"
    contents = [message["content"] for message in driven.report["history"]]
    assert contents == ["Is it there?", "Yes."]
    assert driven.report["left"] == 0
    assert driven.complaints == []
