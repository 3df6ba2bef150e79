"""What is saved is loaded; a file that is not what was written is refused by name."""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from llm.errors import StateFileError
from llm.generate.vector_file import HEADER, VECTORS, load_vectors, save_vectors
from llm.generate.vector_store import VectorStore

ROWS = np.eye(5, dtype=np.float32)[[3, 0, 3]]


def filled() -> VectorStore:
    store = VectorStore()
    for row in ROWS:
        store.add("Käse \U0001f9c0 \ud800", {"day": 2**60, "of": ["a", 0.1]}, row, "model, mean")
    store.forget(2)
    return store


def contents(store: VectorStore) -> tuple[Any, ...]:
    return list(store), store.vectors.tolist(), store.source, store.next_id


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    path = str(tmp_path / "a.memory")
    save_vectors(VectorStore(), path)
    assert contents(load_vectors(path)) == contents(VectorStore())
    save_vectors(filled(), path)
    assert contents(load_vectors(path)) == contents(filled())
    assert [each.name for each in tmp_path.iterdir()] == ["a.memory"], "and nothing else is left"


def test_a_file_cut_short_or_changed_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "a.memory"
    save_vectors(filled(), str(path))
    data = path.read_bytes()
    damaged = [data[:end] for end in range(len(data))]
    damaged += [data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :] for at in range(len(data))]
    for bad in damaged:
        path.write_bytes(bad)
        try:
            found = load_vectors(str(path))
        except StateFileError as problem:
            assert str(problem).startswith(f"{path}: ")
        else:  # a date, for example, says nothing
            assert contents(found) == contents(filled())


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"version": 2}, "version: is 2; this build reads 1"),
        ({"version": True}, "version: is True"),
        ({"source": 7}, "source: is 7"),
        ({"entries": {}}, "entries: is {}"),
        ({"entries": []}, "vectors.f32: has 40 bytes; 0 rows of 5 need 0"),
        ({"width": 6}, "vectors.f32: has 40 bytes; 2 rows of 6 need 48"),
        ({"width": -5}, "width: is -5"),
        ({"next_id": 3}, r"entries\[1\].id: is 3; it must be from 2 to 2"),
        ({"next_id": 2**64}, "next_id: is 18446744073709551616"),
    ],
)
def test_headers_that_make_no_sense(tmp_path: Path, changes: dict, problem: str) -> None:
    path = tmp_path / "a.memory"
    save_vectors(filled(), str(path))
    with zipfile.ZipFile(path) as archive:
        header, data = json.loads(archive.read(HEADER)), archive.read(VECTORS)
    write(path, json.dumps(header | changes), data)
    with pytest.raises(StateFileError, match=problem):
        load_vectors(str(path))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ([], ": is .*; it must be an object"),
        ({"id": "1", "text": "", "metadata": {}}, ".id: is '1'"),
        ({"id": 1, "text": None, "metadata": {}}, ".text: is None"),
        ({"id": 1, "text": "", "metadata": []}, ".metadata: is "),
        ({"id": 0, "text": "", "metadata": {}}, ".id: is 0; it must be from 1 to 8"),
    ],
)
def test_entries_that_make_no_sense(tmp_path: Path, fields: Any, problem: str) -> None:
    header = {"version": 1, "source": "m", "width": 5, "next_id": 9, "entries": [fields]}
    path = tmp_path / "a.memory"
    write(path, json.dumps(header), ROWS[:1].tobytes())
    with pytest.raises(StateFileError, match=r"entries\[0\]" + problem):
        load_vectors(str(path))


@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38, 0.5])
def test_vectors_that_are_no_directions(tmp_path: Path, value: float) -> None:
    store, path = filled(), str(tmp_path / "a.memory")
    store.vectors[1] *= np.float32(0)
    store.vectors[1, 2:4] = value
    save_vectors(store, path)
    with pytest.raises(StateFileError, match=r"vectors\.f32: row 1 has the length"):
        load_vectors(path)


def test_archives_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "a.memory"
    write(path, "[" * 100_000, b"")
    with pytest.raises(StateFileError, match=r"memory\.json: is not JSON"):
        load_vectors(str(path))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(HEADER, "{}")
    with pytest.raises(StateFileError, match=r"vectors\.f32: is missing"):
        load_vectors(str(path))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(HEADER, "{}" + " " * 10_000)
    with pytest.raises(StateFileError, match=r"memory\.json: is compressed"):
        load_vectors(str(path))
    for place in (tmp_path, tmp_path / "nothing", "\0"):
        with pytest.raises(StateFileError, match="file: cannot be read"):
            load_vectors(str(place))


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    for place in (path, path / "no" / "where", "\0"):
        with pytest.raises(StateFileError, match="file: cannot be written"):
            save_vectors(filled(), str(place))
    assert [*tmp_path.iterdir()] == [path], "nothing is left behind"


def write(path: Path, header: str, data: bytes) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(HEADER, header)
        archive.writestr(VECTORS, data)
