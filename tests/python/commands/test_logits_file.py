"""Logits are streamed into a numpy file, which is there when it is complete and not before."""

import os
from pathlib import Path

import numpy as np
import pytest

from llm.commands.logits_file import LogitsFile
from llm.errors import RequestError


def rows(count: int) -> np.ndarray:
    return np.random.default_rng(count).normal(size=(count, 7)).astype(np.float32)


def test_numpy_reads_what_was_appended(tmp_path: Path) -> None:
    path = tmp_path / "logits"
    path.write_text("of an earlier run")
    with LogitsFile(str(path)) as file:
        file.append(rows(5), 8)
        assert path.read_text() == "of an earlier run"
        file.append(rows(3), 8)
    read = np.load(path)
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read, np.concatenate([rows(5), rows(3)]))
    assert os.listdir(tmp_path) == ["logits"]


def test_a_run_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), LogitsFile(str(tmp_path / "logits.npy")) as file:
        file.append(rows(5), 8)
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("none/logits.npy", "No such file or directory", id="no folder"),
        pytest.param("", "is a folder", id="a folder"),
    ],
)
def test_what_cannot_be_written_is_told_at_once(tmp_path: Path, name: str, problem: str) -> None:
    path = str(tmp_path / name) if name else str(tmp_path)
    with pytest.raises(RequestError) as error:
        LogitsFile(path)
    assert str(error.value) == f"--save-logits {path}: {problem}"
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a full disk to offer")
def test_a_full_disk_is_told(tmp_path: Path) -> None:
    path = tmp_path / "logits.npy"
    (tmp_path / "logits.npy.part").symlink_to("/dev/full")
    with (
        pytest.raises(RequestError, match="No space left on device"),
        LogitsFile(str(path)) as file,
    ):
        file.append(np.zeros((64, 4096), np.float32), 64)
    assert os.listdir(tmp_path) == []
