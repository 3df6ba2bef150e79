"""Godot packs for tests: version 2 has its directory in front, version 3 behind the files."""

import struct
from collections.abc import Mapping

PADDING = 16
_NAMES_IN = {2: "res://", 3: ""}  # what an entry's path begins with


def build(
    files: Mapping[str, bytes], version: int = 3, flags: int = 2, entry_flags: int = 0
) -> bytes:
    """A pack whose files, by their paths in the project, lie at multiples of 16 from its start."""
    names = {name: _padded((_NAMES_IN[version] + name).encode(), 4) for name in files}
    directory_size = 4 + sum(4 + len(name) + 36 for name in names.values())
    header_size = len(_header(version, flags, 0, 0))
    data_start = _rounded(header_size + (directory_size if version == 2 else 0))
    directory, data = struct.pack("<I", len(files)), b""
    for name, content in files.items():
        directory += struct.pack("<I", len(names[name])) + names[name]
        directory += struct.pack("<QQ16sI", len(data), len(content), bytes(16), entry_flags)
        data = _padded(data + content, PADDING)
    header = _header(version, flags, data_start, data_start + len(data))
    if version == 2:
        return (header + directory).ljust(data_start, b"\0") + data
    return header.ljust(data_start, b"\0") + data + directory


def behind_a_program(pack: bytes, program: bytes) -> bytes:
    """As an export with an embedded pack writes it."""
    return program + pack + struct.pack("<Q4s", len(pack), b"GDPC")


def _header(version: int, flags: int, data: int, directory: int) -> bytes:
    start = struct.pack("<4s5IQ", b"GDPC", version, 4, 6, 3, flags, data)
    return start + (struct.pack("<Q", directory) if version == 3 else b"") + bytes(64)


def _padded(data: bytes, unit: int) -> bytes:
    return data.ljust(_rounded(len(data), unit), b"\0")


def _rounded(size: int, unit: int = PADDING) -> int:
    return -(-size // unit) * unit
