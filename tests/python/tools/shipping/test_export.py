"""Presets, and where a private engine finds its template."""

from pathlib import Path

import pytest

from setup.engine import Engine
from shipping import export


def test_presets_make_programs_of_their_own() -> None:
    presets = export.presets()
    assert set(presets) >= {"Chat", "Shop"}
    assert len({Path(path).parent for path in presets.values()}) == len(presets)
    assert all(path.startswith("build/") for path in presets.values())


def test_a_preset_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert export.main(["Chat", "Ship"]) == 2
    assert "there is no preset 'Ship'; the presets are Chat, Shop" in capsys.readouterr().err


def test_a_users_own_engine_knows_its_templates() -> None:
    assert export.template_environment(Engine(Path("/godot"), "4.6.3.stable.x", False)) == {}


def test_the_private_engine_has_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "_DATA", tmp_path)
    engine = Engine(Path("/godot"), "4.6.3.stable.debian4.6.3+ds-3", True)
    for _ in range(2):  # the second time it is there
        assert export.template_environment(engine) == {"XDG_DATA_HOME": str(tmp_path)}
    template = tmp_path / "godot/export_templates/4.6.3.stable/linux_release.x86_64"
    assert template.readlink().name == "godot-template-release"
