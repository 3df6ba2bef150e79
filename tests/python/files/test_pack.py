"""Models inside a game's pack: read where they lie, or said why not."""

from pathlib import Path

import numpy as np
import pytest
from support.gguf_builder import U16, GgufBuilder
from support.pack_builder import behind_a_program, build

from llm.errors import ModelFileError
from llm.files.mapping import map_any
from llm.files.opening import open_model

MODEL = "models/tiny.gguf"
BEFORE = bytes(range(251)) * 41  # so that the model starts on no page
PROGRAM = b"\x7fELF" + BEFORE


def small(**metadata: int) -> GgufBuilder:
    made = GgufBuilder().add("general.architecture", "llama")
    for name, value in metadata.items():
        made.add(name.replace("_", "."), value, U16)
    return made.tensor("a", (3, 7), "f32", np.arange(21, dtype=np.float32))


def problem_of(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        open_model(str(path))
    assert caught.value.path == str(path)
    return f"{caught.value.field}: {caught.value.problem}"


@pytest.mark.parametrize(
    ("version", "flags", "program"),
    [
        pytest.param(2, 0, b"", id="version 2, offsets in the file"),
        pytest.param(2, 2, b"", id="version 2, offsets in the pack"),
        pytest.param(2, 2, PROGRAM, id="version 2, behind a program"),
        pytest.param(3, 2, b"", id="version 3"),
        pytest.param(3, 2, PROGRAM, id="version 3, behind a program"),
    ],
)
def test_a_model_in_a_pack(tmp_path: Path, version: int, flags: int, program: bytes) -> None:
    files = {"main.tscn": BEFORE, MODEL: small().build(), "last.txt": b"end"}
    pack = build(files, version, flags)
    if program:
        pack = behind_a_program(pack, program)
    (tmp_path / "game.pck").write_bytes(pack)
    with open_model(str(tmp_path / "game.pck" / MODEL)) as file:
        assert list(file.data("a").view(np.float32)) == list(range(21))
        assert file.size == len(files[MODEL])
    assert bytes(map_any(str(tmp_path / "game.pck" / "last.txt"))) == b"end"


def test_a_model_in_several_files(tmp_path: Path) -> None:
    parts = [small(split_no=0, split_count=2), GgufBuilder()]
    parts[1].add("split.no", 1, U16).add("split.count", 2, U16)
    parts[1].tensor("b", (1, 5), "f32", np.full(5, 0.5, np.float32))
    names = [f"models/m-{number:05d}-of-00002.gguf" for number in (1, 2)]
    files = {name: made.build() for name, made in zip(names, parts, strict=True)}
    (tmp_path / "game.pck").write_bytes(build(files))
    with open_model(str(tmp_path / "game.pck" / names[0])) as file:
        assert set(file.data("b").view(np.float32)) == {0.5}
    (tmp_path / "game.pck").write_bytes(build({names[0]: files[names[0]]}))
    with pytest.raises(ModelFileError, match=f"game.pck holds no {names[1]}"):
        open_model(str(tmp_path / "game.pck" / names[0]))


def test_a_pack_without_it(tmp_path: Path) -> None:
    (tmp_path / "game.pck").write_bytes(build({"main.tscn": b"scene"}))
    assert "game.pck holds no models/tiny.gguf" in problem_of(tmp_path / "game.pck" / MODEL)


@pytest.mark.parametrize(
    ("flags", "entry_flags", "problem"),
    [
        pytest.param(3, 0, "is encrypted; place the model beside", id="the directory"),
        pytest.param(2, 1, "holds models/tiny.gguf encrypted; place it beside", id="the file"),
    ],
)
def test_what_is_encrypted(tmp_path: Path, flags: int, entry_flags: int, problem: str) -> None:
    pack = build({MODEL: b"GGUF"}, flags=flags, entry_flags=entry_flags)
    (tmp_path / "game.pck").write_bytes(pack)
    assert problem in problem_of(tmp_path / "game.pck" / MODEL)


@pytest.mark.parametrize("version", [2, 3])
def test_a_pack_that_was_cut(tmp_path: Path, version: int) -> None:
    pack = build({"main.tscn": BEFORE, MODEL: small().build()}, version)
    for size in (5, 50, 99, len(pack) // 2):
        (tmp_path / "game.pck").write_bytes(pack[:size])
        assert "game.pck ends" in problem_of(tmp_path / "game.pck" / MODEL)


def test_a_pack_of_a_later_version(tmp_path: Path) -> None:
    pack = bytearray(build({MODEL: b"GGUF"}))
    pack[4] = 9
    (tmp_path / "game.pck").write_bytes(pack)
    assert "is of version 9; this build reads 2 to 4" in problem_of(tmp_path / "game.pck" / MODEL)


def test_a_file_that_is_no_pack_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("GDP", encoding="utf-8")
    assert "cannot be opened: Not a directory" in problem_of(tmp_path / "notes.txt" / MODEL)


def test_what_lies_in_a_pack_is_told_by_its_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "game.pck").write_bytes(build({MODEL: b"", "models/zip.gguf": b"PK\x03\x04"}))
    assert "is empty (0 bytes)" in problem_of(tmp_path / "game.pck" / MODEL)
    assert "looks like a zip archive" in problem_of(tmp_path / "game.pck" / "models/zip.gguf")
