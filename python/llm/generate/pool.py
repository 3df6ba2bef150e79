"""Which parts of a memory are in use, and by how many each."""

from abc import ABC, abstractmethod
from collections.abc import Sequence


class Pool(ABC):
    """Gives out parts of a memory by their numbers; there are `count` at first."""

    def __init__(self, count: int) -> None:
        self._users: list[int] = []  # of each part
        self._free: list[int] = []
        self._add(count)

    @abstractmethod
    def _grow(self) -> None:
        """Has more parts made, and adds them. DeviceMemoryError."""

    @property
    def used(self) -> int:
        """Parts that somebody has."""
        return len(self._users) - len(self._free)

    @property
    def users(self) -> Sequence[int]:
        """Of each part, how many have it."""
        return self._users

    def take(self) -> int:
        """A part for one user; there may have to be more. DeviceMemoryError."""
        if not self._free:
            self._grow()
        part = self._free.pop()
        self._users[part] = 1
        return part

    def share(self, part: int) -> None:
        """With one user more."""
        self._users[part] += 1

    def is_shared(self, part: int) -> bool:
        return self._users[part] > 1

    def release(self, part: int) -> None:
        """By one of its users."""
        self._users[part] -= 1
        if self._users[part] == 0:
            self._free.append(part)

    def _add(self, count: int) -> None:
        """There are so many from now on."""
        start = len(self._users)
        self._users += [0] * (count - start)
        self._free += reversed(range(start, count))  # the first of them are taken first
