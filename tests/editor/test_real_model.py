"""The default model in the editor's dock."""

from pathlib import Path

from support.editor_project import EditorProject

from setup.paths import DEFAULT_MODEL

HERE = Path(__file__).parent


def test_it_answers_on_a_device(project: EditorProject) -> None:
    driven = project.drive(HERE / "drive_real_model.gd", str(DEFAULT_MODEL))
    assert driven.report["error"] == ""
    assert driven.report["reason"] in ("length", "stop")
    assert driven.report["executor"] != "reference"
    assert 0 < driven.report["tokens"] <= 4
    assert "tokens/s" in driven.report["status"]
    assert driven.complaints == [], "the device and all that it had are given back"
