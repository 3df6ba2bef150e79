"""Models in several files: opened by the first, or said what is wrong with which."""

from pathlib import Path

import numpy as np
import pytest
from support.gguf_builder import I32, U16, GgufBuilder

from llm.errors import ModelFileError
from llm.files.gguf import GgufFile
from llm.files.opening import open_model

COUNT = 3
PLACES = {"a": 0, "b": 1, "c": 1, "d": 2}  # the part of each tensor


def part(number: int, *, total: int = len(PLACES), count: int = COUNT) -> GgufBuilder:
    made = GgufBuilder()
    if number == 0:
        made.add("general.architecture", "llama").add("only.in.the.first", "yes")
    made.add("split.no", number, U16).add("split.count", count, U16)
    made.add("split.tensors.count", total, I32)
    for name, place in PLACES.items():
        if place == number:
            values = np.full((3, 32), ord(name), np.float32)
            made.tensor(name, values.shape, "f32", values)
    return made


def path_of(folder: Path, number: int) -> Path:
    return folder / f"m-{number + 1:05d}-of-{COUNT:05d}.gguf"


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """The folder of a sound model."""
    for number in range(COUNT):
        part(number).write(path_of(tmp_path, number))
    return tmp_path


def error_of(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        open_model(str(path))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_tensors_come_from_every_part(parts: Path) -> None:
    with open_model(str(path_of(parts, 0))) as file:
        assert file.metadata.str("only.in.the.first") == "yes"
        assert list(file.tensors) == ["a", "b", "c", "d"]
        for name in file.tensors:
            assert set(file.data(name).view(np.float32)) == {ord(name)}
            assert file.rows(name, 1, 2).nbytes == 2 * 32 * 4
        sizes = [path_of(parts, number).stat().st_size for number in range(COUNT)]
        assert file.size == sum(sizes)
        assert file.kind == "GGUF version 3, 3 files"


def test_the_digest_is_of_every_part(parts: Path) -> None:
    def digest() -> str:
        with open_model(str(path_of(parts, 0))) as file:
            return file.digest_without_data()

    before = digest()
    assert digest() == before
    part(2).add("more", 1).write(path_of(parts, 2))
    assert digest() != before


def test_a_whole_file_may_say_that_it_is_one(tmp_path: Path) -> None:
    path = part(0, count=1).write(tmp_path / "m.gguf")
    with open_model(path) as file:
        assert isinstance(file, GgufFile)


def test_another_part_names_the_first(parts: Path) -> None:
    assert error_of(path_of(parts, 1)) == (
        f"{path_of(parts, 1)}: split.no: is 1, so this is part 2 of 3; "
        "open the first, m-00001-of-00003.gguf"
    )


def test_a_part_is_missing(parts: Path) -> None:
    path_of(parts, 1).unlink()
    assert error_of(path_of(parts, 0)) == (
        f"{path_of(parts, 1)}: file: does not exist; it is part 2 of 3 of {path_of(parts, 0)}"
    )


def test_a_name_that_leads_to_no_other(parts: Path) -> None:
    renamed = path_of(parts, 0).rename(parts / "m.gguf")
    assert error_of(renamed) == (
        f"{renamed}: split.count: is 3, but the file's name does not end with "
        "-00001-of-00003.gguf, as others' do"
    )


@pytest.mark.parametrize(
    ("number", "made", "message"),
    [
        pytest.param(1, part(2), "split.no: is 2, but must be 1 here", id="the wrong part"),
        pytest.param(
            2, part(2, count=4), "split.count: is 4, but must be 3 here", id="of another model"
        ),
        pytest.param(
            2,
            GgufBuilder(),
            "split.count: is missing from the metadata",
            id="a file that is no part",
        ),
        pytest.param(
            2,
            part(2).tensor("b", (1,), "f32", np.ones(1, np.float32)),
            "tensor 'b': is in m-00002-of-00003.gguf too",
            id="a tensor that another has",
        ),
        pytest.param(
            0,
            part(0, total=5),
            "split.tensors.count: is 5, but the 3 files hold 4",
            id="a tensor that none has",
        ),
        pytest.param(
            0,
            part(0, count=60_000),
            "split.count: is 60,000, but the file's name does not end with "
            "-00001-of-60000.gguf, as others' do",
            id="more parts than the name says",
        ),
    ],
)
def test_parts_that_disagree(parts: Path, number: int, made: GgufBuilder, message: str) -> None:
    damaged = made.write(path_of(parts, number))
    assert error_of(path_of(parts, 0)) == f"{damaged}: {message}"
