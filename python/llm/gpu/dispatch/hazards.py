"""Where a barrier is needed: only between operations that really touch the same bytes."""

from collections.abc import Iterable, Sequence

from llm.gpu.operations import Region


class HazardTracker:
    """Remembers what was read and written since the last barrier."""

    def __init__(self) -> None:
        self._reads: list[Region] = []
        self._writes: list[Region] = []

    def add(self, reads: Sequence[Region], writes: Sequence[Region]) -> bool:
        """Takes the next operation; True where a barrier must come before it.

        Read after write, write after read and write after write conflict; reads alone never do.
        """
        conflict = _any_overlap(reads, self._writes) or _any_overlap(
            writes, (*self._writes, *self._reads)
        )
        if conflict:
            self._reads.clear()
            self._writes.clear()
        self._reads.extend(reads)
        self._writes.extend(writes)
        return conflict


def _any_overlap(some: Iterable[Region], others: Sequence[Region]) -> bool:
    return any(a.overlaps(b) for a in some for b in others)
