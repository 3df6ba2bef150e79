"""The file of a vector store: a zip archive, stored without compression, of two members.

    memory.json    version, source, width, next_id, and id, text and metadata of each entry
    vectors.f32    a row of float32 for each entry, little-endian

The checksums of both are the archive's own.
"""

import json
import os
import zipfile
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from llm.errors import StateFileError
from llm.generate.vector_entry import Entry
from llm.generate.vector_store import VectorStore
from llm.gpu.program import Floats

VERSION = 1
HEADER, VECTORS = "memory.json", "vectors.f32"
UNIT_TOLERANCE = 1e-3

Value = TypeVar("Value")
_KINDS: dict[type, str] = {
    int: "a whole number from 0 up",
    str: "a text",
    list: "an array",
    dict: "an object",
}


def save_vectors(store: VectorStore, path: str) -> None:
    """Whatever happens, the file is the old one or the new one. Raises StateFileError."""
    header = {
        "version": VERSION,
        "source": store.source,
        "width": store.vectors.shape[1],
        "next_id": store.next_id,
        "entries": [
            {"id": entry.id, "text": entry.text, "metadata": entry.metadata} for entry in store
        ],
    }
    part = f"{path}.{os.getpid()}.part"
    try:
        with zipfile.ZipFile(part, "w") as archive:
            archive.writestr(HEADER, json.dumps(header))
            archive.writestr(VECTORS, store.vectors.astype("<f4").tobytes())
        os.replace(part, path)
    except (OSError, ValueError) as problem:
        raise StateFileError(path, "file", f"cannot be written: {_reason(problem)}") from None
    finally:
        with suppress(OSError, ValueError):
            os.remove(part)


def load_vectors(path: str) -> VectorStore:
    """Raises StateFileError."""
    try:
        with zipfile.ZipFile(path) as archive:
            header, data = _member(archive, path, HEADER), _member(archive, path, VECTORS)
    except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile) as problem:
        raise StateFileError(path, "file", f"cannot be read: {_reason(problem)}") from None
    try:
        found = json.loads(header)
    except (ValueError, RecursionError):
        raise StateFileError(path, HEADER, "is not JSON") from None
    return _store_of(path, _checked(path, HEADER, found, dict), data)


def _member(archive: zipfile.ZipFile, path: str, name: str) -> bytes:
    if name not in archive.namelist():
        raise StateFileError(path, name, "is missing")
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED:  # a small file could expand to any size
        raise StateFileError(path, name, "is compressed, and must not be")
    return archive.read(info)


def _store_of(path: str, header: dict[str, Any], data: bytes) -> VectorStore:
    version = _checked(path, "version", header.get("version"), int)
    if version != VERSION:
        raise StateFileError(path, "version", f"is {version}; this build reads {VERSION}")
    source = _checked(path, "source", header.get("source"), str)
    next_id = _checked(path, "next_id", header.get("next_id"), int)
    entries = _checked(path, "entries", header.get("entries"), list)
    rows = _rows(path, data, len(entries), _checked(path, "width", header.get("width"), int))
    store = VectorStore(source)
    for number, (fields, row) in enumerate(zip(entries, rows, strict=True)):
        entry = _entry(path, f"entries[{number}]", fields)
        if not store.next_id <= entry.id < next_id:
            problem = f"is {entry.id}; it must be from {store.next_id} to {next_id - 1}"
            raise StateFileError(path, f"entries[{number}].id", problem)
        store.append(entry, row, source)
    store.next_id = next_id
    return store


def _rows(path: str, data: bytes, count: int, width: int) -> Floats:
    """The vectors, (N, C): finite, and of length 1, or 0 as a model of zeros makes them."""
    if len(data) != count * width * 4:
        problem = f"has {len(data):,} bytes; {count:,} rows of {width:,} need {count * width * 4:,}"
        raise StateFileError(path, VECTORS, problem)
    rows = np.frombuffer(data, "<f4").astype(np.float32).reshape(count, width)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(rows, axis=1)  # (N,)
    bad = np.flatnonzero(~((np.abs(lengths - 1.0) < UNIT_TOLERANCE) | (lengths == 0.0)))
    if bad.size:
        row = int(bad[0])
        raise StateFileError(path, VECTORS, f"row {row} has the length {lengths[row]:g}, not 1")
    return rows


def _entry(path: str, field: str, fields: object) -> Entry:
    found = _checked(path, field, fields, dict)
    return Entry(
        _checked(path, f"{field}.id", found.get("id"), int),
        _checked(path, f"{field}.text", found.get("text"), str),
        _checked(path, f"{field}.metadata", found.get("metadata"), dict),
    )


def _checked(path: str, field: str, value: object, kind: type[Value]) -> Value:
    if type(value) is not kind or (isinstance(value, int) and not 0 <= value < 2**63):
        raise StateFileError(path, field, f"is {value!r:.40}; it must be {_KINDS[kind]}")
    return value


def _reason(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or str(problem)
