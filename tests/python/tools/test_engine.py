"""Which Godot is taken."""

import os
from pathlib import Path

import pytest

from setup import engine
from setup.report import SetupError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("4.6.3.stable.debian4.6.3+ds-3\n", (4, 6, 3), id="Debian's build"),
        pytest.param("4.4.stable.official.4c311cbee\n", (4, 4, 0), id="a release without patch"),
        pytest.param("4.10.1.stable.mono.official.0\n", (4, 10, 1), id="two digits, with mono"),
        pytest.param("3.5.2.stable.official\n", (3, 5, 2), id="an old one is read too"),
        pytest.param("a warning first\n4.5.1.rc2\n", (4, 5, 1), id="noise before the version"),
        pytest.param("godot: not found\n", None, id="no version"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_parse_version(text: str, expected: tuple[int, int, int] | None) -> None:
    assert engine.parse_version(text) == expected


def fake_godot(folder: Path, version: str, name: str = "godot") -> Path:
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\necho {version}\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose PATH is one folder, without $GODOT."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin" if not _system_godot() else str(folder))
    monkeypatch.delenv("GODOT", raising=False)
    monkeypatch.setattr(engine, "CACHE", tmp_path / "cache")
    return folder


def _system_godot() -> bool:
    return any(Path(folder, "godot").exists() for folder in ("/usr/bin", "/bin"))


def test_the_engine_on_path_is_taken(machine: Path) -> None:
    program = fake_godot(machine, "4.5.1.stable.official.abc")
    found = engine.find_installed()
    assert found == engine.Engine(program, "4.5.1.stable.official.abc", private=False)


def test_an_old_engine_on_path_is_passed_over(machine: Path) -> None:
    fake_godot(machine, "4.3.stable.official.abc")
    newer = fake_godot(machine, "4.4.stable.official.abc", name="godot4")
    found = engine.find_installed()
    assert found is not None
    assert found.program == newer


def test_the_variable_wins_over_path(machine: Path, tmp_path: Path, monkeypatch) -> None:
    fake_godot(machine, "4.5.stable.official.abc")
    chosen = fake_godot(tmp_path / "elsewhere", "4.6.stable.official.abc")
    monkeypatch.setenv("GODOT", str(chosen))
    found = engine.find_installed()
    assert found is not None
    assert found.program == chosen


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        pytest.param("4.3.stable.official", "not Godot 4.4+", id="too old"),
        pytest.param("hello", "not Godot 4.4+", id="another program"),
        pytest.param(None, "not a program", id="not there"),
    ],
)
def test_a_wrong_variable_is_an_error(
    machine: Path, monkeypatch: pytest.MonkeyPatch, version: str | None, problem: str
) -> None:
    path = machine / "chosen"
    if version is not None:
        fake_godot(machine, version, name="chosen")
    monkeypatch.setenv("GODOT", str(path))
    with pytest.raises(SetupError, match=problem):
        engine.find_installed()


def test_the_version_is_asked_for_again_when_the_program_changed(machine: Path) -> None:
    program = fake_godot(machine, "4.4.stable.official.abc")
    assert engine.find_installed() is not None
    program.write_text("#!/bin/sh\necho 4.7.2.stable.official\n")
    os.utime(program, ns=(1, 1))
    found = engine.find_installed()
    assert found is not None
    assert found.version == "4.7.2.stable.official"
