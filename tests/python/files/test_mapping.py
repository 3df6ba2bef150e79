"""Paths that lead to no model file: what the message says."""

import os
from pathlib import Path

import pytest
from support.sample_gguf import rich

from llm.errors import ModelFileError, printable
from llm.files.gguf import GgufFile


def problem_of(path: str) -> ModelFileError:
    with pytest.raises(ModelFileError) as caught:
        GgufFile.open(path)
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{printable(path)}: {caught.value.field}: ")
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("wanted", "present", "problem"),
    [
        pytest.param(
            "gemma-3-270-q4.gguf",
            ["gemma-3-270m-q4.gguf", "llama-1b.gguf"],
            "does not exist; did you mean gemma-3-270m-q4.gguf? "
            "The model files there: gemma-3-270m-q4.gguf, llama-1b.gguf",
            id="a name that differs by one letter",
        ),
        pytest.param(
            "Model.GGUF",
            ["model.gguf"],
            "does not exist; did you mean model.gguf? The model files there: model.gguf",
            id="a name in other letters' case",
        ),
        pytest.param(
            "zzz.gguf",
            ["a.gguf"],
            "does not exist; the model files there: a.gguf",
            id="a name like no other",
        ),
        pytest.param(
            "m.gguf",
            ["readme.txt"],
            "does not exist; its folder holds no .gguf file",
            id="no model near",
        ),
        pytest.param(
            "zzz.gguf",
            [f"{index}.gguf" for index in range(8)],
            "does not exist; the model files there: "
            "0.gguf, 1.gguf, 2.gguf, 3.gguf, 4.gguf and 3 more",
            id="more than a message holds",
        ),
    ],
)
def test_missing_file(tmp_path: Path, wanted: str, present: list[str], problem: str) -> None:
    for name in present:
        (tmp_path / name).touch()
    found = problem_of(str(tmp_path / wanted))
    assert (found.field, found.problem) == ("file", problem)


def test_missing_folder(tmp_path: Path) -> None:
    found = problem_of(str(tmp_path / "models" / "m.gguf"))
    assert found.problem == f"does not exist; nor does its folder {tmp_path / 'models'}"


@pytest.mark.parametrize(
    ("present", "problem"),
    [
        pytest.param(["a.gguf"], "is a folder; the model files in it: a.gguf", id="with a model"),
        pytest.param([], "is a folder without config.json or a .gguf file in it", id="empty"),
    ],
)
def test_folder(tmp_path: Path, present: list[str], problem: str) -> None:
    for name in present:
        (tmp_path / name).touch()
    assert problem_of(str(tmp_path)).problem == problem


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.gguf")
    assert problem_of(str(tmp_path / "m.gguf")).problem == "is a device or a pipe, not a file"


def test_a_path_that_no_system_takes() -> None:
    assert "cannot be opened" in problem_of("m\0.gguf").problem
    assert "cannot be opened" in problem_of("m" * 5000).problem
    assert "cannot be opened" in problem_of("\ud800.gguf").problem


@pytest.mark.parametrize(
    ("content", "field", "problem"),
    [
        pytest.param(b"", "file", "is empty (0 bytes)", id="empty"),
        pytest.param(b"GG", "header", "needs 4 bytes but 2 remain", id="half a magic"),
        pytest.param(
            b"once upon a time",
            "header",
            "begins with the bytes 6f 6e 63 65 20 75 70 6f, not with 'GGUF'",
            id="some text",
        ),
        pytest.param(b"\x90\x01" + bytes(6) + b'{"__metadata__":', "header", "safetensors", id="s"),
        pytest.param(b"PK\x03\x04" + bytes(30), "header", "a zip archive or a PyTorch", id="zip"),
        pytest.param(b"\n<!DOCTYPE html><html>", "header", "looks like a web page", id="a page"),
        pytest.param(b"<html lang=en>", "header", "looks like a web page", id="a bare page"),
        pytest.param(
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            "header",
            "looks like a Git LFS pointer; fetch the file itself with 'git lfs pull'",
            id="a Git LFS pointer",
        ),
        pytest.param(b'{"error": "not found"}', "header", "looks like a JSON file", id="JSON"),
        pytest.param(b"tjgg\x03\0\0\0", "header", "from before GGUF", id="GGML's last format"),
        pytest.param(b"FUGG\0\0\0\x03", "header", "wrong order", id="the magic reversed"),
        pytest.param(bytes(100), "header", "the download did not finish", id="zeros"),
    ],
)
def test_not_gguf(tmp_path: Path, content: bytes, field: str, problem: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    found = problem_of(str(path))
    assert found.field == field
    assert problem in found.problem


@pytest.mark.parametrize("name", ["модель.gguf", "a model 🦊.gguf", "it's\nhere", "model.bin"])
def test_any_name_will_do_if_the_bytes_are_right(tmp_path: Path, name: str) -> None:
    assert GgufFile.open(rich().write(tmp_path / name)).version == 3
