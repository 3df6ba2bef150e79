"""Recurrent state in RAM: see `StateSlots`."""

import numpy as np

from llm.gpu.program import Floats


class HostSlots:
    """One slot at first."""

    def __init__(self, state_words: int) -> None:
        self._slots = np.zeros((1, state_words), np.float32)  # (slots, words)
        self._places = {0: 0}  # slot of each sequence

    @property
    def nbytes(self) -> int:
        return self._slots.nbytes

    @property
    def count(self) -> int:
        return len(self._slots)

    def grow(self, count: int) -> None:
        more = np.zeros((count - self.count, self._slots.shape[1]), np.float32)
        self._slots = np.concatenate([self._slots, more])

    def place(self, sequence: int, slot: int) -> None:
        self._places[sequence] = slot

    def copy(self, source: int, target: int) -> None:
        self._slots[target] = self._slots[source]

    def read(self, slot: int) -> bytes:
        return bytes(self._slots[slot])

    def write(self, slot: int, data: bytes) -> None:
        self._slots[slot] = np.frombuffer(data, np.float32)

    def of(self, sequence: int) -> Floats:
        """What its slot holds, (words,), to be changed in place."""
        found: Floats = self._slots[self._places[sequence]]
        return found
