"""Which pages of a model's key/value cache are in use, and by how many sequences each."""

from collections.abc import Sequence
from typing import Protocol

from llm.errors import DeviceMemoryError
from llm.generate.pool import Pool

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


class PagePool(Pool):
    def __init__(self, cache: Cache) -> None:
        super().__init__(cache.pages)
        self._cache = cache

    def place(self, sequence: int, pages: Sequence[int], first: int = 0) -> None:
        """Says which pages a sequence has, from its page `first` on."""
        self._cache.place(sequence, pages, first)

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
        count = self._cache.pages
        try:
            self._cache.grow(count + max(LEAST_GROWTH, count // 2))
        except DeviceMemoryError:
            self._cache.grow(count + LEAST_GROWTH)
        self._add(self._cache.pages)
