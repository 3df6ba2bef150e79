"""Which slots of recurrent state are in use: by sequences, or by what they were at some token."""

from llm.errors import DeviceMemoryError
from llm.generate.pool import Pool
from llm.gpu.program import StateSlots

LEAST_GROWTH = 2  # slots
SNAPSHOT_BYTES = 64 << 20  # of the snapshots of one sequence
FEWEST_SNAPSHOTS, MOST_SNAPSHOTS = 2, 16


class StatePool(Pool):
    def __init__(self, slots: StateSlots, state_bytes: int) -> None:
        super().__init__(slots.count)
        self._slots = slots
        fitting = SNAPSHOT_BYTES // state_bytes
        self.most_snapshots = min(max(FEWEST_SNAPSHOTS, fitting), MOST_SNAPSHOTS)

    def place(self, sequence: int, slot: int) -> None:
        """Says in which slot runs find the state of a sequence, and leave it."""
        self._slots.place(sequence, slot)

    def copy(self, source: int, target: int) -> None:
        """What a slot holds becomes that of another, too. DeviceMemoryError."""
        self._slots.copy(source, target)

    def read(self, slot: int) -> bytes:
        return self._slots.read(slot)

    def write(self, slot: int, data: bytes) -> None:
        """What was read of a slot of the same model."""
        self._slots.write(slot, data)

    def _grow(self) -> None:
        """By half, or by one where that is too much."""
        count = self._slots.count
        try:
            self._slots.grow(count + max(LEAST_GROWTH, count // 2))
        except DeviceMemoryError:
            self._slots.grow(count + 1)
        self._add(self._slots.count)
