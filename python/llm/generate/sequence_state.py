"""The recurrent state of a sequence, and snapshots of it.

State takes in token after token, and cannot go back. To go on from an earlier token, the state is
taken from a snapshot at or before that token, and the tokens in between run again (decision 29).
"""

from bisect import insort
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from llm.errors import DeviceMemoryError
from llm.generate.state_pool import StatePool

SPACING = 64  # tokens between snapshots, at least; the last one of a prompt may be nearer
STRIDE = 256  # tokens of a prompt from one snapshot to the next, at most
TAIL = 8  # tokens: what opens an answer, and is often written otherwise in the next prompt


@dataclass(frozen=True, slots=True, order=True)
class Snapshot:
    """What the state was after so many tokens. A slot that several may have, and nobody changes."""

    position: int
    slot: int


class SequenceState:
    def __init__(self, number: int, pool: StatePool, take: Callable[[], int]) -> None:
        """`take` gives a slot, whatever it has to take that from. DeviceMemoryError."""
        self._number = number  # of the sequence
        self._pool = pool
        self._take = take
        self._slot: int | None = None  # that runs change
        self._at: int | None = 0  # tokens that are in there; None: nobody knows
        self._snapshots: list[Snapshot] = []  # in their order
        self._before: Snapshot | None = None  # those tokens that may have to be taken back

    def is_at(self, count: int) -> bool:
        """Whether it has taken in so many tokens, no more and no less."""
        return self._at == count

    def known(self, count: int) -> int:
        """After how many of the first `count` tokens, at most, it is known."""
        if self._at == count:
            return count
        found = self._latest(count)
        return 0 if found is None else found.position

    def return_to(self, count: int) -> None:
        """Where it was known, and nothing beyond. DeviceMemoryError."""
        if self._at != count:
            found = self._latest(count)
            if found is not None:
                self._pool.copy(found.slot, self._own_slot())
            self._at = count
        self.forget_after(count)

    def note(self, count: int, end: int) -> None:
        """Takes a snapshot after `count` tokens of a prompt of `end`, where one will be of use."""
        last = self._snapshots[-1].position if self._snapshots else 0
        if count == end - TAIL > last or count - last >= SPACING:
            self.take_snapshot(count)

    def take_snapshot(self, count: int) -> None:
        """If it has taken in so many tokens, and there is memory for one."""
        if self._at != count or any(each.position == count for each in self._snapshots):
            return
        made = self._copied(count)
        if made is not None:
            insort(self._snapshots, made)
            self._thin_out()

    def begin(self, count: int, *, is_ahead: bool) -> None:
        """A run changes it, after `count` tokens; those that come `is_ahead` may be taken back.

        DeviceMemoryError.
        """
        self._own_slot()
        if is_ahead:
            self._drop_before()
            self._before = self._copied(count)
        self._at = None

    def end(self, count: int) -> None:
        """It has taken in so many tokens."""
        self._at = count

    def forget_after(self, count: int) -> None:
        """What comes after so many tokens are others from now on."""
        if self._before is not None and self._before.position > count:
            self._drop_before()
        while self._snapshots and self._snapshots[-1].position > count:
            self._pool.release(self._snapshots.pop().slot)

    def forget_snapshots(self) -> bool:
        """For others who need slots; False where there are none."""
        had = bool(self._snapshots)
        for each in self._snapshots:
            self._pool.release(each.slot)
        self._snapshots = []
        return had

    def clear(self) -> None:
        """A sequence without tokens."""
        self.forget_after(0)
        if self._slot is not None:
            self._pool.release(self._slot)
        self._slot, self._at = None, 0

    def adopt(self, other: "SequenceState", count: int) -> None:
        """What another sequence knows of its first tokens, up to `count`. DeviceMemoryError."""
        shared = [each for each in other._snapshots if each.position <= count]
        latest = other._latest(count)
        source = other._slot if latest is None or other._at == count else latest.slot
        assert source is not None, "there is something to adopt"
        for each in shared:
            self._pool.share(each.slot)
        try:
            own = self._own_slot()  # the other may be forgotten for it; nobody writes to its slot
            self._at = None
            self._pool.copy(source, own)
        except DeviceMemoryError:
            for each in shared:
                self._pool.release(each.slot)
            raise
        self.forget_after(0)
        self._snapshots, self._at = shared, count

    def last_snapshots(self, count: int) -> list[Snapshot]:
        """So many at most, in their order. Who keeps them has to share their slots."""
        return self._snapshots[-count:]

    def restore(self, position: int, data: bytes) -> None:
        """A snapshot later than those it has, from what was read of one. DeviceMemoryError."""
        slot = self._take()
        self._snapshots.append(Snapshot(position, slot))
        self._pool.write(slot, data)

    @contextmanager
    def lent(self, count: int) -> Iterator[int]:
        """Meanwhile runs change another slot, which begins as the state was after the first `count`
        tokens, or fewer: after how many. DeviceMemoryError."""
        slot = self._take()  # snapshots may be forgotten for it
        try:
            known = self.known(count)
            latest = self._latest(count)
            source = self._slot if latest is None or self._at == count else latest.slot
            if known and source is not None:
                self._pool.copy(source, slot)
            self._pool.place(self._number, slot)
            yield known
        finally:
            if self._slot is not None:
                self._pool.place(self._number, self._slot)
            self._pool.release(slot)

    def _latest(self, count: int) -> Snapshot | None:
        """The latest snapshot of the first `count` tokens."""
        kept = self._snapshots if self._before is None else [*self._snapshots, self._before]
        return max((each for each in kept if each.position <= count), default=None)

    def _own_slot(self) -> int:
        if self._slot is None:
            self._slot = self._take()
            self._pool.place(self._number, self._slot)
        return self._slot

    def _copied(self, count: int) -> Snapshot | None:
        """None where there is no memory for it: snapshots save time, and nothing else."""
        try:
            slot = self._pool.take()
        except DeviceMemoryError:
            return None
        try:
            self._pool.copy(self._own_slot(), slot)
        except DeviceMemoryError:
            self._pool.release(slot)
            return None
        return Snapshot(count, slot)

    def _drop_before(self) -> None:
        if self._before is not None:
            self._pool.release(self._before.slot)
            self._before = None

    def _thin_out(self) -> None:
        """Of too many, the one goes whose neighbours are nearest, for how far back they are."""
        if len(self._snapshots) <= self._pool.most_snapshots:
            return
        places = [0, *(each.position for each in self._snapshots)]
        end = places[-1]
        gaps = [
            (after - before) / (end - place)
            for before, place, after in zip(places, places[1:-1], places[2:], strict=False)
        ]
        least = min(range(len(gaps)), key=gaps.__getitem__)
        self._pool.release(self._snapshots.pop(least).slot)
