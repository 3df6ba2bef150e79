"""A conversation's place in the key/value cache of a model that may have others there."""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from llm.errors import DeviceMemoryError, RequestError
from llm.generate.pages import Cache, PagePool
from llm.gpu.operations import PAGE_CELLS
from llm.gpu.program import MAX_SEQUENCES
from llm.gpu.sampler import Sampler

if TYPE_CHECKING:
    from llm.generate.model import Model


class CachedSequence:
    """The ids whose keys and values are there, from position 0; every forward is done here.

    Pages that two sequences have in common are copied by the one that is first to write there.
    """

    def __init__(self, model: "Model", number: int, others: "CachedSequences") -> None:
        self.model = model
        self.number = number  # of the model's sequences
        self.is_busy = False  # an answer counts on what is there
        self.ids: list[int] = []
        self._others = others
        self._pages: list[int] = []

    def __len__(self) -> int:
        return len(self.ids)

    def clear(self) -> None:
        self._truncate(0)

    def close(self) -> None:
        """Gives its pages and its number back."""
        self.clear()
        self._others.close(self)

    def keep(self, count: int) -> None:
        """The first so many tokens only."""
        self._truncate(count)

    def keep_common(self, prompt: Sequence[int]) -> int:
        """Keeps the longest beginning that this or another sequence knows, and gives its length.

        The prompt's last token is never taken as known: logits belong to the latest forward alone,
        and the first token must be drawn from this prompt's.
        """
        self._others.note_use(self)
        beginning = prompt[:-1]
        known = common(self.ids, beginning)
        other = max(self._others, key=lambda each: common(each.ids, beginning))
        shared = common(other.ids, beginning)
        if shared > known and self._adopt(other, shared):
            return shared
        self._truncate(known)
        return known

    def decode(self, token: int, count: int, sampler: Sampler, stops: Collection[int]) -> list[int]:
        """The next `count` tokens after `token`, which follows those known; see Model.decode."""
        self.reserve(count)
        try:
            found = self.model.decode(token, len(self), count, sampler, stops, self.number)
        except Exception:
            self.clear()
            raise
        self.ids += [token, *found[:-1]]
        return found

    def forward(self, ids: Sequence[int], *, want_logits: bool) -> None:
        """Runs `ids` after those known. When that fails nothing is known any more."""
        self.reserve(len(ids))
        outputs = [len(ids) - 1] if want_logits else []
        try:
            self.model.forward(ids, len(self), outputs, self.number)
        except Exception:
            self.clear()
            raise
        self.ids.extend(ids)

    def reserve(self, count: int) -> None:
        """Makes sure of pages for so many more tokens, which no other has. DeviceMemoryError."""
        pool, first = self._others.pool, len(self) // PAGE_CELLS
        if first < len(self._pages) and pool.is_shared(self._pages[first]):
            copied = self._others.take_page(self, lambda: pool.copy(self._pages[first]))
            pool.release(self._pages[first])
            self._pages[first] = copied
            pool.place(self.number, [copied], first)
        before = len(self._pages)
        try:
            while len(self._pages) * PAGE_CELLS < len(self) + count:
                self._pages.append(self._others.take_page(self, pool.take))
        finally:  # also those that came before there were no more
            if len(self._pages) > before:
                pool.place(self.number, self._pages[before:], before)

    def snapshot(self) -> Generator[bytes, None, None]:
        """The pages of what is known when it begins, as bytes, one after the other.

        They are kept until it ends or is closed, whatever becomes of the sequence.
        """
        pool = self._others.pool
        pages = self._pages[: -(-len(self) // PAGE_CELLS)]
        for page in pages:
            pool.share(page)
        try:
            for page in pages:
                yield pool.read(page)
        finally:
            for page in pages:
                pool.release(page)

    def restore(self, ids: Sequence[int], pages: Iterable[bytes]) -> Generator[None, None, None]:
        """Begins with what was a snapshot of `ids`, a page a step.

        Before the last nothing is known, and also where it fails or is closed. DeviceMemoryError.
        """
        pool = self._others.pool
        self.clear()
        self.is_busy = True
        try:
            for data in pages:
                self._pages.append(self._others.take_page(self, pool.take))
                pool.write(self._pages[-1], data)
                yield
            pool.place(self.number, self._pages)
            self.ids = list(ids)
        finally:
            self.is_busy = False
            self._truncate(len(self))  # pages without ids are given back

    def _adopt(self, other: "CachedSequence", count: int) -> bool:
        """Begins with the first tokens of another; False where there is no memory for a copy."""
        pool, whole = self._others.pool, count // PAGE_CELLS
        pages = other._pages[: whole + 1]
        for page in pages[:whole]:
            pool.share(page)
        if count % PAGE_CELLS:  # both will write there
            try:
                pages[whole] = pool.copy(pages[whole])
            except DeviceMemoryError:
                for page in pages[:whole]:
                    pool.release(page)
                return False
        else:
            del pages[whole:]
        self._truncate(0)
        self.ids, self._pages = other.ids[:count], pages
        pool.place(self.number, pages)
        return True

    def _truncate(self, count: int) -> None:
        del self.ids[count:]
        needed = -(-count // PAGE_CELLS)
        for page in self._pages[needed:]:
            self._others.pool.release(page)
        del self._pages[needed:]


class CachedSequences:
    """All of a model's, in the order in which they were used: the latest last."""

    def __init__(self, model: "Model", cache: Cache) -> None:
        self._model = model
        self.pool = PagePool(cache)
        self._open: list[CachedSequence] = []

    def __iter__(self) -> Iterator[CachedSequence]:
        return iter(self._open)

    def open(self) -> CachedSequence:
        """RequestError where there are as many as a model takes."""
        numbers = {sequence.number for sequence in self._open}
        number = next((n for n in range(MAX_SEQUENCES) if n not in numbers), None)
        if number is None:
            raise RequestError(
                f"{MAX_SEQUENCES} nodes use {self._model.name} already, as many as can; free one"
            )
        made = CachedSequence(self._model, number, self)
        self._open.append(made)
        return made

    def close(self, sequence: CachedSequence) -> None:
        self._open.remove(sequence)

    def note_use(self, sequence: CachedSequence) -> None:
        self._open.remove(sequence)
        self._open.append(sequence)

    def take_page(self, taker: CachedSequence, take: Callable[[], int]) -> int:
        """Where there is no memory for more, idle ones are forgotten, the oldest first."""
        while True:
            try:
                return take()
            except DeviceMemoryError:
                others = (one for one in self._open if one is not taker and one._pages)
                idle = next((one for one in others if not one.is_busy), None)
                if idle is None:
                    raise
                idle.clear()


def common(ids: Sequence[int], prompt: Sequence[int]) -> int:
    """How many tokens two sequences begin with alike."""
    low, high = 0, min(len(ids), len(prompt))
    while low < high:  # slices are compared much faster than tokens one by one
        middle = (low + high + 1) // 2
        if ids[low:middle] == prompt[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
