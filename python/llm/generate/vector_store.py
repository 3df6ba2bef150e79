"""Texts by their vectors: the nearest are found by comparing with all of them.

Plain values and numpy; on the thread that asks. Its files: see vector_file.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from llm.errors import RequestError
from llm.generate.vector_entry import Entry
from llm.gpu.program import Floats

LEAST_ROOM = 16  # rows


@dataclass(frozen=True, slots=True)
class Match:
    entry: Entry
    similarity: float  # cosine of the angle between the vectors: -1 to 1


class VectorStore:
    def __init__(self, source: str = "", next_id: int = 1) -> None:
        self.source = source  # of all vectors; empty before the first
        self.next_id = next_id
        self._entries: list[Entry] = []
        self._room: Floats = np.zeros((0, 0), np.float32)  # (room, C), filled to len(self)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        """The oldest first."""
        return iter(self._entries)

    @property
    def vectors(self) -> Floats:
        """Of each entry, (N, C)."""
        return self._room[: len(self)]

    def add(
        self, text: str, metadata: Mapping[str, Any], vector: Sequence[float], source: str
    ) -> int:
        """The id of the new entry. Raises RequestError where the vector is of another source."""
        self.append(Entry(self.next_id, text, metadata), vector, source)
        return self.next_id - 1

    def append(self, entry: Entry, vector: Sequence[float], source: str) -> None:
        """As `add`, of an entry that has its id, higher than those before."""
        row = np.asarray(vector, np.float32)  # (C,)
        self.check_source(source, row.size)
        count = len(self)
        if count in (0, len(self._room)):
            room = np.zeros((max(LEAST_ROOM, 2 * count), row.size), np.float32)
            if count:
                room[:count] = self._room[:count]
            self._room = room
        self._room[count] = row
        self._entries.append(entry)
        self.source, self.next_id = source, entry.id + 1

    def nearest(self, vector: Sequence[float], source: str, count: int) -> list[Match]:
        """Up to so many entries, the nearest first, of equals the oldest.

        Raises RequestError where the vector is of another source, and where `count` is below 1.
        """
        if count < 1:
            raise RequestError(f"count is {count}; it must be 1 or more")
        query = np.asarray(vector, np.float32)  # (C,)
        self.check_source(source, query.size)
        if not len(self):
            return []
        similarities = self.vectors @ query  # (N,), as all have length 1
        order = np.argsort(-similarities, kind="stable")[:count]
        return [Match(self._entries[row], float(similarities[row])) for row in order]

    def forget(self, entry_id: int) -> bool:
        """False where there is none of that id."""
        row = next((row for row, entry in enumerate(self) if entry.id == entry_id), None)
        if row is None:
            return False
        self._room[row : len(self) - 1] = self._room[row + 1 : len(self)]
        del self._entries[row]
        return True

    def check_source(self, source: str, width: int) -> None:
        """RequestError where vectors of that source and width cannot be compared with these."""
        if len(self) and (source, width) != (self.source, self._room.shape[1]):
            raise RequestError(
                f"the memory's vectors are of {self.source} ({self._room.shape[1]} numbers); this "
                f"one is of {source} ({width}); use the former, or clear() the memory"
            )
