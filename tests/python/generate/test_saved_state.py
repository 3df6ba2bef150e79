"""The file of a saved conversation: it holds what was put in, and nothing else passes for one."""

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llm.errors import StateFileError
from llm.generate import saved_state
from llm.generate.saved_state import (
    CHECK,
    MAGIC,
    PREFIX,
    VERSION,
    ModelIdentity,
    SavedCache,
    SavedState,
    open_state,
    write_state,
    writing,
)

PARTS = [bytes(range(20)), bytes(20), b"\xff" * 20, b"states ", b"are two"]
STATE = SavedState(
    [
        {"role": "user", "content": "Grüß dich, 🦊 \ud83e\0"},
        {"role": "assistant", "content": ""},
    ],
    "Be brief.",
    SavedCache(ModelIdentity("m.gguf", 123, "abc", 20, 7), [1, 2, 262143], 3, [2, 3]),
)


def write(path: Path, state: SavedState = STATE, pages: list[bytes] = PARTS) -> Path:
    for _ in writing(str(path), state, pages):
        pass
    return path


def read(path: Path) -> tuple[SavedState, list[bytes]]:
    with open_state(str(path)) as (state, pages):
        return state, list(pages)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return write(tmp_path / "a.state")


def forged(header: object, pages: bytes = b"", **prefix: Any) -> bytes:
    """A file whose checksums are right, whatever it says."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    values = {
        "magic": MAGIC,
        "version": VERSION,
        "header_bytes": len(text),
        "check": zlib.crc32(text),
        "page_bytes": len(pages),
    }
    values |= prefix
    return PREFIX.pack(*values.values()) + text + pages + CHECK.pack(zlib.crc32(pages))


def header_of(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    size = PREFIX.unpack_from(data)[2]
    header: dict[str, Any] = json.loads(data[PREFIX.size : PREFIX.size + size])
    return header


def test_what_is_read_is_what_was_written(saved: Path) -> None:
    assert read(saved) == (STATE, PARTS)


def test_a_conversation_without_a_cache(tmp_path: Path) -> None:
    state = SavedState(STATE.messages, "")
    write_state(str(tmp_path / "b.state"), state)
    assert read(tmp_path / "b.state") == (state, [])
    write_state(str(tmp_path / "b.state"), SavedState([]))
    assert read(tmp_path / "b.state")[0].messages == []


def test_a_file_changes_when_the_new_one_is_whole(saved: Path) -> None:
    other = SavedState([], "Another.", STATE.cache)
    steps = writing(str(saved), other, PARTS)
    next(steps)
    assert read(saved) == (STATE, PARTS)
    assert len(os.listdir(saved.parent)) == 2
    steps.close()
    assert os.listdir(saved.parent) == [saved.name], "nothing is left behind"
    write(saved, other)
    assert read(saved)[0].system_prompt == "Another."
    assert os.listdir(saved.parent) == [saved.name]


def test_pages_that_fail_leave_the_file_as_it_was(saved: Path) -> None:
    def broken() -> Any:
        yield PARTS[0]
        raise RuntimeError("the device is lost")

    with pytest.raises(RuntimeError, match="is lost"):
        for _ in writing(str(saved), STATE, broken()):
            pass
    assert read(saved) == (STATE, PARTS)
    assert os.listdir(saved.parent) == [saved.name]


@pytest.mark.parametrize("name", ["", "no_such_folder/a.state", "folder", "nul\0.state"])
def test_where_nothing_can_be_written_or_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    path = f"{tmp_path}/{name}" if name else ""
    with pytest.raises(StateFileError, match="file: cannot be written"):
        write_state(path, STATE)
    with pytest.raises(StateFileError, match=r"file: (cannot be opened|is a folder)"):
        read(Path(path))
    assert os.listdir(tmp_path) == ["folder"]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StateFileError, match="a pipe"):
        read(tmp_path / "pipe")


def test_no_length_but_the_whole_passes(saved: Path) -> None:
    data = saved.read_bytes()
    for size in range(len(data)):
        saved.write_bytes(data[:size])
        with pytest.raises(StateFileError, match=r"needs 28 bytes|and should have"):
            read(saved)
    saved.write_bytes(data + b"\0")
    with pytest.raises(StateFileError, match=rf"has {len(data) + 1} bytes and should have"):
        read(saved)


def test_no_changed_byte_passes(saved: Path) -> None:
    data = saved.read_bytes()
    start_of_pages = len(data) - CHECK.size - sum(map(len, PARTS))
    for place in range(len(data)):
        for flip in (0x01, 0x80):
            changed = bytearray(data)
            changed[place] ^= flip
            saved.write_bytes(changed)
            with pytest.raises(StateFileError) as raised:
                read(saved)
            named = "pages" if place >= start_of_pages else ""
            assert f"{saved}: {named}" in str(raised.value)


def test_a_damaged_page_leaves_the_conversation(saved: Path) -> None:
    data = bytearray(saved.read_bytes())
    data[-CHECK.size - 5] ^= 1
    saved.write_bytes(data)
    with open_state(str(saved)) as (state, pages):
        assert state == STATE
        with pytest.raises(StateFileError, match="pages: checksum is"):
            list(pages)


def without(name: str, of: str = "") -> Callable[[dict[str, Any]], Any]:
    def change(header: dict[str, Any]) -> None:
        place = header
        for part in filter(None, of.split(".")):
            place = place[part]
        del place[name]

    return change


CHANGES: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (without("messages"), "messages: is None; it must be a list"),
    (without("system_prompt"), "system_prompt: is None; it must be a str"),
    (without("ids", "cache"), "cache.ids: is None; it must be a list"),
    (without("pages", "cache"), "cache.pages: is None; it must be a number"),
    (without("model", "cache"), "cache.model: is None; it must be a dict"),
    *(
        (without(name, "cache.model"), f"cache.model.{name}: is None")
        for name in ("name", "digest", "file_bytes", "page_bytes")
    ),
    (lambda header: header.update(messages=[{}, "Hi"]), "message 1: is 'Hi'; it must be a dict"),
    (lambda header: header.update(cache=[]), r"cache: is \[\]; it must be a dict"),
    (lambda header: header["cache"].update(ids=[0, -1]), r"cache.ids\[1\]: is -1"),
    (lambda header: header["cache"].update(ids=[True]), r"cache.ids\[0\]: is True"),
    (lambda header: header["cache"].update(ids=[1.5]), r"cache.ids\[0\]: is 1.5"),
    (lambda header: header["cache"].update(pages=2), "has 74 bytes of pages and should have 54"),
    (lambda header: header["cache"].update(pages=-3), "cache.pages: is -3"),
    (lambda header: header.update(cache=None), "has 74 bytes of pages and should have 0"),
]


@pytest.mark.parametrize(("change", "named"), CHANGES, ids=[named for _, named in CHANGES])
def test_headers_that_say_something_else(
    saved: Path, change: Callable[[dict[str, Any]], Any], named: str
) -> None:
    header = header_of(saved)
    change(header)
    saved.write_bytes(forged(header, b"".join(PARTS)))
    with pytest.raises(StateFileError, match=named):
        read(saved)


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"", "file: needs 28 bytes but 0 remain"),
        (b"GGUF" + bytes(60), "file: begins with b'GGUF"),
        (forged({}, version=2), "version: is 2; this build reads 1"),
        (forged({}, version=0), "version: is 0"),
        (forged({}, page_bytes=2**64 - 1), "and should have 18,446,744,073,709,551,649"),
        (forged({}, header_bytes=2**32 - 1), "and should have 4,294,967,327"),
        (forged(b"{"), "header: is not JSON"),
        (forged(b"\xff\xfe"), "header: is not JSON"),
        (forged(b"[" * 100_000), "header: is not JSON"),
        (forged([]), r"header: is \[\]; it must be a dict"),
    ],
)
def test_files_that_are_no_saved_conversation(tmp_path: Path, data: bytes, named: str) -> None:
    path = tmp_path / "other"
    path.write_bytes(data)
    with pytest.raises(StateFileError, match=named):
        read(path)


def test_headers_that_would_take_too_long(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_state, "MAX_HEADER", 100)
    with pytest.raises(StateFileError, match=r"header: has [0-9]+ bytes; at most 100"):
        read(saved)
    with pytest.raises(StateFileError, match=r"header: would be [0-9]+ bytes of 100"):
        write(saved)
