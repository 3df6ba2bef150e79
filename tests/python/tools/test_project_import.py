"""Which files make Godot import the project again."""

from pathlib import Path

import pytest

from setup import project_import


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(project_import, "ROOT", tmp_path)
    for name in ("a.gd", "scenes/b.gd", "tools/c.gd", ".hidden/d.gd", "scenes/picture.png"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (tmp_path / "tools" / ".gdignore").touch()
    return tmp_path


def test_project_files_are_those_that_godot_sees(project: Path) -> None:
    assert project_import.project_files(["*.gd"]) == [project / "a.gd", project / "scenes" / "b.gd"]
    assert project_import.project_files(["*.png"]) == [project / "scenes" / "picture.png"]


def test_declarations_are_the_class_lines_only(project: Path) -> None:
    script = project / "a.gd"
    script.write_text("class_name Box\nextends Node\nvar a: int = 1\n\tclass_name Inner\n")
    before = project_import.declarations(script)
    assert before == "class_name Box extends Node"
    script.write_text("class_name Box\nextends Node\nvar a: int = 2\n")
    assert project_import.declarations(script) == before
