"""Which pages of a model's key/value cache are in use, and by how many sequences each."""

from collections.abc import Sequence
from typing import Protocol

from llm.errors import DeviceMemoryError

LEAST_GROWTH = 16  # pages


class Cache(Protocol):
    """The part of an executor that holds the pages."""

    @property
    def pages(self) -> int: ...

    def grow(self, pages: int) -> None: ...

    def place(self, sequence: int, pages: Sequence[int], first: int = 0) -> None: ...

    def copy_page(self, source: int, target: int) -> None: ...

    def read_page(self, page: int) -> bytes: ...

    def write_page(self, page: int, data: bytes) -> None: ...


class PagePool:
    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._users: list[int] = []  # of each page
        self._free: list[int] = []
        self._take_note_of_new_pages()

    @property
    def used(self) -> int:
        """Pages that some sequence has."""
        return len(self._users) - len(self._free)

    def take(self) -> int:
        """A page for one sequence; there may have to be more. DeviceMemoryError."""
        if not self._free:
            self._grow()
        page = self._free.pop()
        self._users[page] = 1
        return page

    def place(self, sequence: int, pages: Sequence[int], first: int = 0) -> None:
        """Says which pages a sequence has, from its page `first` on."""
        self._cache.place(sequence, pages, first)

    def share(self, page: int) -> None:
        """For one sequence more."""
        self._users[page] += 1

    def is_shared(self, page: int) -> bool:
        return self._users[page] > 1

    def release(self, page: int) -> None:
        """By one of its sequences."""
        self._users[page] -= 1
        if self._users[page] == 0:
            self._free.append(page)

    def copy(self, page: int) -> int:
        """A page of one's own with the same cells. DeviceMemoryError."""
        made = self.take()
        self._cache.copy_page(page, made)
        return made

    def read(self, page: int) -> bytes:
        """Its cells as they lie there."""
        return self._cache.read_page(page)

    def write(self, page: int, data: bytes) -> None:
        """What was read of a page of the same model."""
        self._cache.write_page(page, data)

    def _grow(self) -> None:
        """By half, or by little where that is too much."""
        count = len(self._users)
        try:
            self._cache.grow(count + max(LEAST_GROWTH, count // 2))
        except DeviceMemoryError:
            self._cache.grow(count + LEAST_GROWTH)
        self._take_note_of_new_pages()

    def _take_note_of_new_pages(self) -> None:
        start, end = len(self._users), self._cache.pages
        self._users += [0] * (end - start)
        self._free += reversed(range(start, end))  # the first of them are taken first
