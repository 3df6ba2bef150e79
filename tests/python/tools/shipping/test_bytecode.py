"""Compiled modules without their sources, and archives of them."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from setup.report import SetupError
from shipping import bytecode


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "__init__.py").write_text("from deep.well import depth\n", "utf-8")
    (folder / "deep" / "well.py").write_text("depth = 7\ndef fall():\n    raise ValueError\n")
    return folder


def compiled(sources: Path, target: Path) -> Path:
    bytecode.compile_files(bytecode.sources_below(sources), target, "game.zip")
    return target


def run(path: Path, program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-c", f"import sys; sys.path[:0] = [{str(path)!r}]; {program}"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("form", ["a folder", "an archive", "a folder of an archive"])
def test_modules_are_imported_from(sources: Path, tmp_path: Path, form: str) -> None:
    place = compiled(sources, tmp_path / "made" / "inner")
    if form != "a folder":
        whole = form == "a folder of an archive"
        bytecode.archive(place.parent if whole else place, tmp_path / "made.zip")
        place = tmp_path / "made.zip" / ("inner" if whole else "")
    done = run(place, "import deep; print(deep.depth); deep.well.fall()")
    assert done.stdout == "7\n"
    assert 'File "game.zip/deep/well.py", line 3, in fall' in done.stderr


def test_equal_contents_are_equal_archives(sources: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        bytecode.archive(compiled(sources, tmp_path / name), tmp_path / f"{name}.zip", level=9)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as file:
        assert file.namelist() == ["deep/__init__.pyc", "deep/well.pyc"]


def test_a_source_that_is_none(tmp_path: Path) -> None:
    source = tmp_path / "wrong.py"
    source.write_text("def\n", encoding="utf-8")
    with pytest.raises(SetupError, match=r"wrong\.py does not compile"):
        bytecode.compile_files({"wrong.py": source}, tmp_path / "made", "x")
