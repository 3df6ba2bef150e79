"""Pages are given out once, shared by count, and there are more when none is left."""

from collections.abc import Sequence

import pytest

from llm.errors import DeviceMemoryError
from llm.generate.pages import LEAST_GROWTH, PagePool


class Cache:
    def __init__(self, pages: int, most: int = 1000) -> None:
        self.pages, self.most = pages, most
        self.data: dict[int, bytes] = {}
        self.copies: list[tuple[int, int]] = []
        self.placed: list[tuple[int, list[int], int]] = []

    def grow(self, pages: int) -> None:
        if pages > self.most:
            raise DeviceMemoryError("too many")
        self.pages = pages

    def place(self, sequence: int, pages: Sequence[int], first: int = 0) -> None:
        self.placed.append((sequence, list(pages), first))

    def copy_page(self, source: int, target: int) -> None:
        self.copies.append((source, target))

    def read_page(self, page: int) -> bytes:
        return self.data[page]

    def write_page(self, page: int, data: bytes) -> None:
        self.data[page] = data


def test_a_page_is_given_out_once() -> None:
    pool = PagePool(Cache(3))
    taken = [pool.take() for _ in range(3)]
    assert taken == [0, 1, 2]
    pool.release(1)
    assert (pool.used, pool.take()) == (2, 1)


def test_what_is_written_is_read() -> None:
    pool = PagePool(Cache(2))
    pages = [pool.take(), pool.take()]
    for page in pages:
        pool.write(page, bytes([page]))
    assert [pool.read(page) for page in pages] == [b"\0", b"\1"]


def test_a_shared_page_is_free_when_the_last_one_releases_it() -> None:
    pool = PagePool(Cache(1))
    page = pool.take()
    assert not pool.is_shared(page)
    pool.share(page)
    assert pool.is_shared(page)
    pool.release(page)
    assert (pool.is_shared(page), pool.used) == (False, 1)
    pool.release(page)
    assert pool.used == 0


@pytest.mark.parametrize(("pages", "grown"), [(1, 1 + LEAST_GROWTH), (100, 150)])
def test_there_are_more_when_none_is_left(pages: int, grown: int) -> None:
    cache = Cache(pages)
    pool = PagePool(cache)
    taken = {pool.take() for _ in range(pages + 1)}
    assert len(taken) == pages + 1
    assert cache.pages == grown


def test_a_little_more_where_half_is_too_much() -> None:
    cache = Cache(100, most=120)
    pool = PagePool(cache)
    for _ in range(101):
        pool.take()
    assert cache.pages == 100 + LEAST_GROWTH


def test_no_memory_for_more() -> None:
    pool = PagePool(Cache(1, most=1))
    page = pool.take()
    with pytest.raises(DeviceMemoryError, match="too many"):
        pool.take()
    pool.release(page)
    assert pool.take() == page


def test_a_copy_is_a_page_of_its_own() -> None:
    cache = Cache(2)
    pool = PagePool(cache)
    page = pool.take()
    copied = pool.copy(page)
    assert (page != copied, cache.copies, pool.used) == (True, [(page, copied)], 2)


def test_places_go_to_the_cache() -> None:
    cache = Cache(2)
    PagePool(cache).place(3, [1, 0], 4)
    assert cache.placed == [(3, [1, 0], 4)]
