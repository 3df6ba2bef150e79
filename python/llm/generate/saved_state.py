"""The file of a saved conversation: what was said and, if wanted, what a model computed of it.

All numbers are little-endian:

    8 bytes   the magic, "LLMSTATE"
    u32       version
    u32       bytes of the header, and
    u32       their CRC-32
    u64       bytes of all pages and states
    header    JSON in UTF-8: `messages`, `system_prompt`, `cache` (null: there are no pages)
    pages     of the key/value cache, one after the other
    states    recurrent ones, one after the other
    u32       the CRC-32 of the pages and states

So the conversation can be trusted before a page is read, and a damaged page costs no conversation.
Files are written beside their place and moved there when they are whole.
"""

import json
import os
import stat
import struct
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any, BinaryIO, Final, TypeVar

from llm.errors import StateFileError

MAGIC: Final = b"LLMSTATE"
VERSION: Final = 1
PREFIX: Final = struct.Struct("<8sIIIQ")
CHECK: Final = struct.Struct("<I")
MAX_HEADER: Final = 64 << 20  # bytes, which are read on the main thread

_numbers = count()
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Which model a cache belongs to. A file under another name is the same model."""

    name: str
    file_bytes: int
    digest: str  # of the file but the weights
    page_bytes: int  # of its cache
    state_bytes: int = 0  # of its recurrent state
    adapters: str = ""  # that it had, and their weights


@dataclass(frozen=True, slots=True)
class SavedCache:
    """The tokens whose keys and values the pages hold, from position 0."""

    model: ModelIdentity
    ids: Sequence[int]
    pages: int
    states: Sequence[int] = ()  # after how many tokens each was

    @property
    def nbytes(self) -> int:
        return self.pages * self.model.page_bytes + len(self.states) * self.model.state_bytes


@dataclass(frozen=True, slots=True)
class SavedState:
    messages: Sequence[Mapping[str, Any]]  # as Conversation has them
    system_prompt: str = ""
    cache: SavedCache | None = None


def writing(
    path: str, state: SavedState, parts: Iterable[bytes] = ()
) -> Generator[None, None, None]:
    """Writes a file, a page or a state a step. Before it is over nothing has changed at `path`.

    Closing it early leaves nothing behind. Raises StateFileError.
    """
    header = json.dumps(asdict(state)).encode()
    if len(header) > MAX_HEADER:
        raise StateFileError(path, "header", f"would be {len(header):,} bytes of {MAX_HEADER:,}")
    size = 0 if state.cache is None else state.cache.nbytes
    prefix = PREFIX.pack(MAGIC, VERSION, len(header), zlib.crc32(header), size)
    unfinished = f"{path}.{os.getpid()}-{next(_numbers)}.part"
    check = 0
    try:
        with open(unfinished, "wb") as file:
            file.write(prefix + header)
            for part in parts:
                file.write(part)
                check = zlib.crc32(part, check)
                yield
            file.write(CHECK.pack(check))
        os.replace(unfinished, path)
    except (OSError, ValueError) as problem:
        raise StateFileError(path, "file", f"cannot be written: {_reason(problem)}") from None
    finally:
        with suppress(OSError, ValueError):
            os.remove(unfinished)


def write_state(path: str, state: SavedState) -> None:
    """A file without pages. Raises StateFileError."""
    for _ in writing(path, state):
        pass


@contextmanager
def open_state(path: str) -> Iterator[tuple[SavedState, Iterator[bytes]]]:
    """What a file says, and its pages and states, which are checked after the last: none may be
    used before.

    Raises StateFileError, as do the pages and states.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise StateFileError(path, "file", "is a folder, a device or a pipe")
        file = open(path, "rb")  # noqa: SIM115  (closed below)
    except (OSError, ValueError) as problem:
        raise StateFileError(path, "file", f"cannot be opened: {_reason(problem)}") from None
    with file:
        state = _read_header(path, file)
        yield state, _read_parts(path, file, state.cache)


def _read_header(path: str, file: BinaryIO) -> SavedState:
    size = os.fstat(file.fileno()).st_size
    prefix = _read(path, file, "file", PREFIX.size)
    magic, version, header_bytes, header_check, part_bytes = PREFIX.unpack(prefix)
    if magic != MAGIC:
        raise StateFileError(path, "file", f"begins with {magic!r}, not with {MAGIC!r}")
    if version != VERSION:
        raise StateFileError(path, "version", f"is {version:,}; this build reads {VERSION}")
    needed = PREFIX.size + header_bytes + part_bytes + CHECK.size
    if needed != size:
        raise StateFileError(
            path, "file", f"has {size:,} bytes and should have {needed:,}; it is damaged"
        )
    if header_bytes > MAX_HEADER:
        raise StateFileError(
            path, "header", f"has {header_bytes:,} bytes; at most {MAX_HEADER:,} are read"
        )
    header = _read(path, file, "header", header_bytes)
    _compare_checks(path, "header", zlib.crc32(header), header_check)
    try:
        found = json.loads(header)
    except (ValueError, RecursionError):
        raise StateFileError(path, "header", "is not JSON") from None
    state = _state_of(path, _checked(path, "header", found, dict))
    claimed = 0 if state.cache is None else state.cache.nbytes
    if claimed != part_bytes:
        raise StateFileError(
            path, "cache", f"has {part_bytes:,} bytes of pages and should have {claimed:,}"
        )
    return state


def _read_parts(path: str, file: BinaryIO, cache: SavedCache | None) -> Iterator[bytes]:
    check = 0
    sizes: list[tuple[str, int]] = []
    if cache is not None:
        sizes += [(f"page {page}", cache.model.page_bytes) for page in range(cache.pages)]
        sizes += [(f"the state after {at} tokens", cache.model.state_bytes) for at in cache.states]
    for field, size in sizes:
        data = _read(path, file, field, size)
        check = zlib.crc32(data, check)
        yield data
    (wanted,) = CHECK.unpack(_read(path, file, "checksum of the pages", CHECK.size))
    _compare_checks(path, "pages", check, wanted)


def _read(path: str, file: BinaryIO, field: str, size: int) -> bytes:
    try:
        data = file.read(size)
    except OSError as problem:
        raise StateFileError(path, field, f"cannot be read: {_reason(problem)}") from None
    if len(data) != size:
        raise StateFileError(path, field, f"needs {size:,} bytes but {len(data):,} remain")
    return data


def _compare_checks(path: str, field: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise StateFileError(
            path, field, f"checksum is {found:08x} and should be {wanted:08x}; it is damaged"
        )


def _state_of(path: str, header: Mapping[str, object]) -> SavedState:
    messages = _checked(path, "messages", header.get("messages"), list)
    for number, message in enumerate(messages):
        _checked(path, f"message {number}", message, dict)
    prompt = _checked(path, "system_prompt", header.get("system_prompt"), str)
    cache = header.get("cache")
    if cache is None:
        return SavedState(messages, prompt)
    return SavedState(messages, prompt, _cache_of(path, _checked(path, "cache", cache, dict)))


def _cache_of(path: str, cache: Mapping[str, object]) -> SavedCache:
    model = _checked(path, "cache.model", cache.get("model"), dict)
    name, digest = (
        _checked(path, f"cache.model.{key}", model.get(key), str) for key in ("name", "digest")
    )
    file_bytes, page_bytes = (
        _checked(path, f"cache.model.{key}", model.get(key), int)
        for key in ("file_bytes", "page_bytes")
    )
    state_bytes = _checked(path, "cache.model.state_bytes", model.get("state_bytes", 0), int)
    adapters = _checked(path, "cache.model.adapters", model.get("adapters", ""), str)
    return SavedCache(
        ModelIdentity(name, file_bytes, digest, page_bytes, state_bytes, adapters),
        _numbers_of(path, "cache.ids", cache.get("ids")),
        _checked(path, "cache.pages", cache.get("pages"), int),
        _numbers_of(path, "cache.states", cache.get("states", [])),
    )


def _numbers_of(path: str, field: str, value: object) -> list[int]:
    found = _checked(path, field, value, list)
    for place, number in enumerate(found):
        _checked(path, f"{field}[{place}]", number, int)
    return found


def _checked(path: str, field: str, value: object, kind: type[Value]) -> Value:
    if type(value) is not kind or (isinstance(value, int) and value < 0):
        wanted = "a number from 0 up" if kind is int else f"a {kind.__name__}"
        raise StateFileError(path, field, f"is {value!r:.40}; it must be {wanted}")
    return value


def _reason(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or str(problem)
