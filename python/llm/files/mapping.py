"""Maps a model file into memory, or says in one line why a path is no such file.

A wrong path is the most common mistake of all, so the message names the model files nearby.
"""

import difflib
import mmap
import os
import stat
from collections.abc import Callable
from itertools import islice

from llm.errors import ModelFileError
from llm.files import pack

MAGIC = b"GGUF"
_SUFFIX = ".gguf"
_LISTED = 5  # names in a message
_SCANNED = 2000  # entries looked at in a folder, which may be a download folder

# How files begin that people mistake for GGUF.
_LOOKALIKES = (
    (b"FUGG", "a GGUF file with its bytes in the wrong order"),
    (b"PK\x03\x04", "a zip archive or a PyTorch checkpoint"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"version https://git-lfs", "a Git LFS pointer; fetch the file itself with 'git lfs pull'"),
    (b"<!DOCTYPE", "a web page; the download went wrong"),
    (b"<!doctype", "a web page; the download went wrong"),
    (b"<html", "a web page; the download went wrong"),
    (b"<?xml", "an XML file; the download went wrong"),
    (b"{", "a JSON file"),
    (b"tjgg", "a GGML file from before GGUF; convert the model again"),
    (b"fmgg", "a GGML file from before GGUF; convert the model again"),
    (b"lmgg", "a GGML file from before GGUF; convert the model again"),
    (b"\x80\x02", "a Python pickle, such as an old PyTorch checkpoint"),
    (b"\x93NUMPY", "a numpy array"),
    (b"\x89HDF", "an HDF5 file, such as a Keras model"),
    (bytes(8), "a file of zeros; the download did not finish"),
)


def map_file(path: str) -> memoryview:
    """Maps a file whose first bytes are GGUF's. Raises ModelFileError for anything else.

    The file may lie inside a Godot pack: see `pack`. It stays mapped while something of it is used.
    """
    return _mapped(path, check_magic)


def map_any(path: str) -> memoryview:
    """Maps a file, whatever it holds. Raises ModelFileError where that cannot be."""
    return _mapped(path, lambda path, head: None)


def _mapped(path: str, check: Callable[[str, bytes], None]) -> memoryview:
    try:
        place = pack.find(path) or _whole(path)
        if place.size == 0:
            raise ModelFileError(path, "file", "is empty (0 bytes)")
        with open(place.path, "rb") as file:
            file.seek(place.start)
            check(path, file.read(min(64, place.size)))
            ahead = place.start % mmap.ALLOCATIONGRANULARITY  # mappings start at whole pages
            size, offset = ahead + place.size, place.start - ahead
            whole = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ, offset=offset)
            return memoryview(whole)[ahead:]
    except FileNotFoundError:
        raise ModelFileError(path, "file", "does not exist" + _suggestion(path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelFileError(path, "file", f"cannot be opened: {reason}") from None


def _whole(path: str) -> pack.Place:
    """All of a file that is one of its own."""
    status = os.stat(path)
    if stat.S_ISDIR(status.st_mode):
        raise ModelFileError(path, "file", "is a folder" + _what_is_in(path))
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(path, "file", "is a device or a pipe, not a file")
    return pack.Place(path, 0, status.st_size)


def check_magic(path: str, head: bytes) -> None:
    """Raises ModelFileError, saying what the file seems to be, unless it begins as GGUF does."""
    if head[:4] == MAGIC:
        return
    if len(head) < 4 and MAGIC.startswith(head):
        raise ModelFileError(path, "header", f"needs 4 bytes but {len(head)} remain")
    shown = f"begins with the bytes {head[:8].hex(' ')}, not with 'GGUF'"
    raise ModelFileError(path, "header", shown + _lookalike(head))


def _lookalike(head: bytes) -> str:
    # safetensors: the length of a JSON header in 8 bytes, then that header.
    if head[8:10] == b'{"':
        return "; it looks like a safetensors file; open its folder, which holds config.json too"
    for start, kind in _LOOKALIKES:
        if head.lstrip().startswith(start):
            return f"; it looks like {kind}"
    return ""


def _model_names(folder: str) -> list[str]:
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry in islice(entries, _SCANNED)]
    except (OSError, ValueError):
        return []
    return sorted(name for name in names if name.lower().endswith(_SUFFIX))


def _listing(names: list[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def _what_is_in(folder: str) -> str:
    names = _model_names(folder)
    if names:
        return f"; the model files in it: {_listing(names)}"
    return " without config.json or a .gguf file in it"


def _suggestion(path: str) -> str:
    folder, name = os.path.split(path)
    if folder and not os.path.isdir(folder):
        return f"; nor does its folder {folder}"
    names = _model_names(folder)
    if not names:
        return "; its folder holds no .gguf file"
    # Compared without case and suffix, which all have in common.
    stems = {name.lower().removesuffix(_SUFFIX): name for name in reversed(names)}
    close = difflib.get_close_matches(name.lower().removesuffix(_SUFFIX), stems, n=1)
    if close:
        return f"; did you mean {stems[close[0]]}? The model files there: {_listing(names)}"
    return f"; the model files there: {_listing(names)}"
