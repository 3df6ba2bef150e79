"""The default model in the editor's dock."""

from pathlib import Path

from editor.conftest import NewProject

from setup.paths import DEFAULT_MODEL

HERE = Path(__file__).parent


def test_it_answers_on_a_device(new_project: NewProject) -> None:
    driven = new_project().drive(HERE / "drive_real_model.gd", str(DEFAULT_MODEL))
    assert driven.report.get("error") == "", driven.output
    assert driven.report["reason"] in ("length", "stop")
    assert driven.report["executor"] != "reference"
    assert 0 < driven.report["tokens"] <= 4
    assert "tokens/s" in driven.report["status"]
    assert driven.complaints == [], "the device and all that it had are given back"
