"""A file inside a Godot pack, found where it lies.

Its path is the pack's, then its own: shop.pck/models/tiny.gguf. A pack is a file, or the end of a
game's program. Layout (versions 2 to 4, all numbers little-endian): magic, version, engine version,
flags, where file data starts, and from version 3 on where the directory is; else that comes after
64 bytes. An entry is its path's length, the path, offset, size, MD5 and flags.
"""

import os
import struct
from typing import Any, BinaryIO, NamedTuple

from llm.errors import ModelFileError

MAGIC = b"GDPC"
_VERSIONS = (2, 3, 4)
_HEADER = struct.Struct("<4s5IQQ")  # from version 3 on; before, the last are reserved
_DIRECTORY_V2 = 96
_TRAILER = struct.Struct("<Q4s")  # at the end of a program: the pack's size, and the magic
_COUNT = struct.Struct("<I")
_ENTRY = struct.Struct("<QQ16sI")
_ENCRYPTED_DIRECTORY = 1  # flags of a pack
_RELATIVE = 2
_ENCRYPTED = 1  # flag of an entry
_LONGEST_PATH = 1 << 16


class Place(NamedTuple):
    """Bytes `start` to `start + size` of the file at `path`."""

    path: str
    start: int
    size: int


def find(path: str) -> Place | None:
    """None where the path leads through no pack. Raises ModelFileError where the pack does not hold
    the rest of it, or not in the clear, and OSError."""
    pack, name = os.path.split(path)
    while not os.path.exists(pack):
        pack, folder = os.path.split(pack)
        if not folder:
            return None
        name = f"{folder}/{name}"
    if not os.path.isfile(pack):
        return None
    with open(pack, "rb") as file:
        start = _start(file)
        if start is None:
            return None
        try:
            place = _entry(file, start, name, path)
        except struct.error:
            raise ModelFileError(path, "pack", f"{pack} ends too early") from None
        if place.start + place.size > file.seek(0, os.SEEK_END):
            raise ModelFileError(path, "pack", f"{pack} ends before {name} does")
        return place


def _start(file: BinaryIO) -> int | None:
    """Where the pack starts: 0, or, behind a program, where its trailer says."""
    if file.read(len(MAGIC)) == MAGIC:
        return 0
    end = file.seek(0, os.SEEK_END) - _TRAILER.size
    if end < 0:
        return None
    file.seek(end)
    size, magic = _unpack(file, _TRAILER)
    return end - size if magic == MAGIC and size <= end else None


def _entry(file: BinaryIO, base: int, name: str, path: str) -> Place:
    """Of the pack that starts at `base`."""
    file.seek(base)
    _, version, _, _, _, flags, data, directory = _unpack(file, _HEADER)
    if version not in _VERSIONS:
        raise ModelFileError(path, "pack", f"is of version {version}; this build reads 2 to 4")
    if flags & _ENCRYPTED_DIRECTORY:
        raise ModelFileError(path, "pack", "is encrypted; place the model beside the program")
    if version > 2 or flags & _RELATIVE:
        data += base
    file.seek(base + (directory if version > 2 else _DIRECTORY_V2))
    (count,) = _unpack(file, _COUNT)
    for _ in range(count):
        (length,) = _unpack(file, _COUNT)
        entry = file.read(min(length, _LONGEST_PATH)).rstrip(b"\0").decode(errors="replace")
        offset, size, _, entry_flags = _unpack(file, _ENTRY)
        if entry.removeprefix("res://") == name:
            if entry_flags & _ENCRYPTED:
                problem = f"holds {name} encrypted; place it beside the program"
                raise ModelFileError(path, "pack", problem)
            return Place(file.name, data + offset, size)
    raise ModelFileError(path, "pack", f"{file.name} holds no {name}")


def _unpack(file: BinaryIO, layout: struct.Struct) -> tuple[Any, ...]:
    return layout.unpack(file.read(layout.size))
