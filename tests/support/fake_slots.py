"""Recurrent state without numbers: how many tokens it has taken in, and a checksum of them."""

import struct
import zlib
from collections.abc import Sequence

from llm.errors import DeviceMemoryError

STATE = struct.Struct("<QQ")
STATE_BYTES = STATE.size
GARBAGE = (99, 99)


class FakeSlots:
    """See `StateSlots`."""

    def __init__(self) -> None:
        self.most = 1000
        self._held = [GARBAGE]  # tokens, and their checksum
        self._places = {0: 0}

    @property
    def count(self) -> int:
        return len(self._held)

    def grow(self, count: int) -> None:
        if count > self.most:
            raise DeviceMemoryError(f"{count} slots do not fit")
        self._held += [GARBAGE] * (count - self.count)

    def place(self, sequence: int, slot: int) -> None:
        self._places[sequence] = slot

    def copy(self, source: int, target: int) -> None:
        self._held[target] = self._held[source]

    def read(self, slot: int) -> bytes:
        return STATE.pack(*self._held[slot])

    def write(self, slot: int, data: bytes) -> None:
        count, check = STATE.unpack(data)
        self._held[slot] = (count, check)

    def take_in(self, sequence: int, ids: Sequence[int], position: int) -> None:
        count, check = self._held[self._places[sequence]] if position else (0, 0)
        assert count == position, "the state is not where the run begins"
        self._held[self._places[sequence]] = (count + len(ids), _checked(ids, check))

    def holds(self, sequence: int, ids: Sequence[int]) -> bool:
        """Whether a sequence's state is that after these tokens."""
        return self._held[self._places[sequence]] == (len(ids), _checked(ids, 0))


def _checked(ids: Sequence[int], check: int) -> int:
    for token in ids:
        check = zlib.crc32(struct.pack("<I", token), check)
    return check
