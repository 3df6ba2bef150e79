"""A conversation's place in the key/value cache of a model that may have others there."""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from llm.errors import DeviceMemoryError, RequestError
from llm.generate.adapters import SequenceAdapters
from llm.generate.pages import Cache, PagePool
from llm.generate.request import AdapterUse
from llm.generate.saved_state import ModelIdentity
from llm.generate.sequence_state import STRIDE, TAIL, SequenceState
from llm.generate.state_pool import StatePool
from llm.generate.xray import PageMap
from llm.gpu.operations import PAGE_CELLS
from llm.gpu.program import MAX_SEQUENCES, StateSlots
from llm.gpu.sampler import Sampler

if TYPE_CHECKING:
    from llm.generate.model import Model
    from llm.gpu.layers import PartCost
    from llm.gpu.program import Floats

MOST_USERS = 255  # of a page, as far as a map tells
SAVED_STATES = 2  # how it is, and how it was before the latest answer


class CachedSequence:
    """The ids whose keys and values are there, from position 0; every forward is done here.

    Pages that two sequences have in common are copied by the one that is first to write there.
    Recurrent state, where the model has some, is brought to the last of the ids by the next run.
    """

    def __init__(self, model: "Model", number: int, others: "CachedSequences") -> None:
        self.model = model
        self.number = number  # of the model's sequences
        self.is_busy = False  # an answer counts on what is there
        self.ids: list[int] = []
        self.adapters = SequenceAdapters(model.adapters, number)
        self._others = others
        self._pages: list[int] = []
        self._state: SequenceState | None = None  # where the model has some
        if others.states is not None:
            self._state = SequenceState(number, others.states, lambda: others.take_slot(self))

    def __len__(self) -> int:
        return len(self.ids)

    def clear(self) -> None:
        self._truncate(0)

    def close(self) -> None:
        """Gives its pages, its adapters and its number back."""
        self.adapt(())
        self.clear()
        self._others.close(self)

    @property
    def identity(self) -> ModelIdentity:
        """Of a model whose cache could be taken in the place of what is known."""
        return replace(self.model.identity, adapters=self.adapters.identity)

    def adapt(self, uses: Sequence[AdapterUse]) -> None:
        """Runs with these adapters from now on, and knows nothing that was computed with others.

        Raises LLMError, and then all is as it was.
        """
        if self.adapters.use(uses):
            self.clear()

    def keep(self, count: int) -> None:
        """The first so many tokens only."""
        self._truncate(count)

    def keep_common(self, prompt: Sequence[int]) -> int:
        """Keeps the longest beginning that this or another sequence can go on from, and gives its
        length.

        The prompt's last token is never taken as known: logits belong to the latest forward alone,
        and the first token must be drawn from this prompt's.
        """
        self._others.note_use(self)
        beginning = prompt[:-1]
        alike = (each for each in self._others if each.adapters.gains == self.adapters.gains)
        other = max(alike, key=lambda each: each._known(beginning))
        shared = other._known(beginning)
        if shared > self._known(beginning) and self._adopt(other, shared):
            return shared
        known = self._known(beginning)
        self._truncate(known)
        if self._state is not None:
            self._state.return_to(known)
            self._state.note(known, len(prompt))
        return known

    def chunk_end(self, prompt_length: int, most: int) -> int:
        """Where the next chunk of a prompt ends, of `most` tokens or fewer.

        Recurrent state is looked at between two chunks, and must be there where it will be of use.
        """
        known = len(self)
        if self._state is None:
            return min(known + most, prompt_length)
        mark = prompt_length - TAIL
        return min(known + min(most, STRIDE), mark if known < mark else prompt_length)

    def decode(self, token: int, count: int, sampler: Sampler, stops: Collection[int]) -> list[int]:
        """The next `count` tokens after `token`, which follows those known; see Model.decode."""
        self.begin(count, is_ahead=count > 1)
        try:
            found = self.model.decode(token, len(self), count, sampler, stops, self.number)
        except Exception:
            self.clear()
            raise
        self.end([token, *found[:-1]])
        return found

    def forward(self, ids: Sequence[int], *, want_logits: bool) -> None:
        """Runs `ids` after those known. When that fails nothing is known any more."""
        self.begin(len(ids))
        outputs = [len(ids) - 1] if want_logits else []
        try:
            self.model.forward(ids, len(self), outputs, self.number)
        except Exception:
            self.clear()
            raise
        self.end(ids)

    def begin(self, count: int, *, is_ahead: bool = False) -> None:
        """Makes sure that so many more tokens can run, of which some that come `is_ahead` may turn
        out to be unwanted. DeviceMemoryError.

        Until end() nothing but what was known before counts on what is there.
        """
        if self._state is not None:
            if not self._state.is_at(len(self)):
                self._run_again()
            self._state.begin(len(self), is_ahead=is_ahead)
        self.reserve(count)

    def end(self, ids: Sequence[int], unwanted: int = 0) -> None:
        """These have run, and so many more that are not to be known."""
        self.ids.extend(ids)
        if self._state is not None and not unwanted:
            self._state.end(len(self))

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

    def attention(self, position: int, layer: int) -> "Floats":
        """How much each head of a layer had, at a known token, of those up to it: (H, position+1).

        What is known stays as it is. Raises LLMError.
        """
        if not 0 <= position < len(self):
            raise RequestError(f"position is {position}; the tokens known are 0 to {len(self) - 1}")
        pages = self._pages[: position // PAGE_CELLS + 1]
        size = self.model.chunk_size
        with self._lent_state(position) as known:
            for start in range(known, position + 1, size):
                ids = self.ids[start : min(start + size, position + 1)]
                found = self.model.attention(ids, start, layer, self.number, pages)
        return found

    def profile_parts(self) -> "list[PartCost]":
        """What each part of the model takes for one more token, which is not to be known.

        Raises LLMError.
        """
        if len(self) >= self.model.context_length:
            raise RequestError("the context is full; there is no room for a token to be timed")
        self.reserve(1)
        with self._lent_state(len(self)):
            return self.model.profile_parts(self.ids[-1] if self.ids else 0, len(self), self.number)

    def page_map(self) -> PageMap:
        users = bytes(min(users, MOST_USERS) for users in self._others.pool.users)
        return PageMap(len(self), PAGE_CELLS, tuple(self._pages), users)

    def state_positions(self) -> list[int]:
        """After how many tokens the states are that snapshot() gives; none where there are none."""
        if self._state is None:
            return []
        self._state.take_snapshot(len(self))
        return [each.position for each in self._state.last_snapshots(SAVED_STATES)]

    def snapshot(self) -> Generator[bytes, None, None]:
        """The pages of what is known when it begins, as bytes, one after the other; then states.

        They are kept until it ends or is closed, whatever becomes of the sequence.
        """
        pages = self._pages[: -(-len(self) // PAGE_CELLS)]
        kept: list[tuple[PagePool | StatePool, int]] = [(self._others.pool, page) for page in pages]
        if self._state is not None and self._others.states is not None:
            states = self._state.last_snapshots(SAVED_STATES)
            kept += [(self._others.states, each.slot) for each in states]
        for pool, part in kept:
            pool.share(part)
        try:
            for pool, part in kept:
                yield pool.read(part)
        finally:
            for pool, part in kept:
                pool.release(part)

    def restore(
        self, ids: Sequence[int], parts: Iterable[bytes], states: Sequence[int]
    ) -> Generator[None, None, None]:
        """Begins with what was a snapshot of `ids`, and its states, a page or a state a step.

        Before the last nothing is known, and also where it fails or is closed. DeviceMemoryError.
        """
        pool = self._others.pool
        self.clear()
        self.is_busy = True
        pages = -(-len(ids) // PAGE_CELLS)
        try:
            for number, data in enumerate(parts):
                if number < pages:
                    self._pages.append(self._others.take_page(self, pool.take))
                    pool.write(self._pages[-1], data)
                elif self._state is not None:
                    self._state.restore(states[number - pages], data)
                yield
            pool.place(self.number, self._pages)
            self.ids = list(ids)
        finally:
            self.is_busy = False
            self._truncate(len(self))  # pages without ids are given back

    def _adopt(self, other: "CachedSequence", count: int) -> bool:
        """Begins with the first tokens of another; False where there is no memory for a copy."""
        pool, whole = self._others.pool, count // PAGE_CELLS
        ids, pages = other.ids[:count], other._pages[: whole + 1]
        shared = pages[:whole]
        for page in shared:
            pool.share(page)
        try:
            if count % PAGE_CELLS:  # both will write there
                shared.append(pool.copy(pages[whole]))
            if self._state is not None and other._state is not None:
                self._state.adopt(other._state, count)
        except DeviceMemoryError:
            for page in shared:
                pool.release(page)
            return False
        self._release_pages(0)
        self.ids, self._pages = ids, shared
        pool.place(self.number, shared)
        return True

    def _lent_state(self, count: int) -> AbstractContextManager[int]:
        """After how many tokens, `count` at most, runs can begin that change nothing."""
        return nullcontext(count) if self._state is None else self._state.lent(count)

    def _known(self, prompt: Sequence[int]) -> int:
        """How many of a prompt's tokens it can go on from."""
        count = common(self.ids, prompt)
        return count if self._state is None else self._state.known(count)

    def _run_again(self) -> None:
        """Brings the state to where the ids are. DeviceMemoryError."""
        assert self._state is not None
        ids = self.ids[:]
        known = self._state.known(len(ids))
        self._truncate(known)
        self._state.return_to(known)
        size = self.model.chunk_size
        for start in range(known, len(ids), size):
            self.forward(ids[start : start + size], want_logits=False)

    def _truncate(self, count: int) -> None:
        del self.ids[count:]
        if self._state is not None:
            if count:
                self._state.forget_after(count)
            else:
                self._state.clear()
        self._release_pages(count)

    def _release_pages(self, count: int) -> None:
        """All but those of the first `count` tokens."""
        needed = -(-count // PAGE_CELLS)
        for page in self._pages[needed:]:
            self._others.pool.release(page)
        del self._pages[needed:]


class CachedSequences:
    """All of a model's, in the order in which they were used: the latest last."""

    def __init__(self, model: "Model", cache: Cache, slots: StateSlots | None) -> None:
        self._model = model
        self.pool = PagePool(cache)
        self.states = None if slots is None else StatePool(slots, model.identity.state_bytes)
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

    def take_slot(self, taker: CachedSequence) -> int:
        """Where there is no memory for more, snapshots are forgotten, then idle sequences."""
        assert self.states is not None
        while True:
            try:
                return self.states.take()
            except DeviceMemoryError:
                states = [one._state for one in self._open if one._state is not None]
                if not any(state.forget_snapshots() for state in states):
                    return self.take_page(taker, self.states.take)


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
