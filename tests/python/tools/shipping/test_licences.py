"""Whose licence comes along."""

import sysconfig
from pathlib import Path

import pytest

from setup.report import SetupError
from shipping import contents, licences

STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib"))


def test_each_part_has_its_text(tmp_path: Path) -> None:
    libraries = ["libz.so.1", "libffi.so.8", "libexpat.so.1"]
    target = tmp_path / "licences"
    licences.collect(target, STANDARD_LIBRARY, contents.PACKAGES.values(), libraries)
    texts = {path.stem: path.read_text(encoding="utf-8") for path in target.iterdir()}
    own = {"godot-llm", "python", "libz", "libffi", "libexpat"}
    assert set(texts) == own | set(contents.PACKAGES.values())
    assert all(len(text) > 500 for text in texts.values())
    assert "Apache License" in texts["sentencepiece"]
    assert "PYTHON SOFTWARE FOUNDATION LICENSE" in texts["python"]


def test_a_package_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.files", lambda _name: [])
    with pytest.raises(SetupError, match="no licence found in the package numpy"):
        licences.collect(tmp_path / "licences", STANDARD_LIBRARY, ["numpy"], [])


def test_a_python_without_one(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no licence of Python"):
        licences.collect(tmp_path / "licences", tmp_path / "python3.0", [], [])
