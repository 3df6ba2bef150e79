"""The editor with the add-on."""

from pathlib import Path

from support.editor_project import EditorProject

HERE = Path(__file__).parent
PNG = b"\x89PNG"


def test_the_editor_opens_with_it_enabled(project: EditorProject) -> None:
    driven = project.drive(HERE / "drive_start.gd")
    assert driven.report["enabled"]
    assert driven.report["class"]
    assert project.picture("editor").read_bytes().startswith(PNG)
    assert not driven.complaints
