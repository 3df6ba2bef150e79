"""LoRA adapters of a loaded model: each is there once, however many sequences have it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from llm.generate.request import AdapterUse
from llm.gpu.adapters import Adapter, Gains


class AdapterMemory(Protocol):
    """The part of an executor that holds them."""

    def add_adapter(self, path: str, architecture: str) -> Adapter: ...

    def remove_adapter(self, number: int) -> None: ...

    def adapt(self, sequence: int, gains: Gains) -> None: ...


@dataclass(slots=True)
class _Entry:
    adapter: Adapter
    users: int = 0


class AdapterShelf:
    """All of a model's."""

    def __init__(self, memory: AdapterMemory, architecture: str) -> None:
        self.memory = memory
        self._architecture = architecture
        self._entries: dict[str, _Entry] = {}  # by path

    def borrow(self, path: str) -> Adapter:
        """To be given back. Raises LLMError where it cannot be loaded."""
        if path not in self._entries:
            self._entries[path] = _Entry(self.memory.add_adapter(path, self._architecture))
        self._entries[path].users += 1
        return self._entries[path].adapter

    def give_back(self, path: str) -> None:
        """The last one to do so frees it."""
        entry = self._entries[path]
        entry.users -= 1
        if entry.users == 0:
            del self._entries[path]
            self.memory.remove_adapter(entry.adapter.number)


class SequenceAdapters:
    """Those of one sequence."""

    def __init__(self, shelf: AdapterShelf, sequence: int) -> None:
        self.gains: Gains = ()
        self.identity = ""  # says which they are, in any process
        self._shelf = shelf
        self._sequence = sequence
        self._paths: list[str] = []

    def use(self, uses: Sequence[AdapterUse]) -> bool:
        """Has these from now on; whether that gives other numbers. Raises LLMError, and then all is
        as it was."""
        paths: list[str] = []
        adapters: dict[int, Adapter] = {}
        weights: dict[int, float] = {}
        try:
            for use in uses:
                adapter = self._shelf.borrow(use.path)
                paths.append(use.path)
                adapters[adapter.number] = adapter
                weights[adapter.number] = weights.get(adapter.number, 0.0) + use.weight
            gains = tuple(sorted((number, weight) for number, weight in weights.items() if weight))
            is_other = gains != self.gains
            if is_other:
                self._shelf.memory.adapt(self._sequence, gains)
        except BaseException:
            self._give_back(paths)
            raise
        self._give_back(self._paths)
        self._paths, self.gains = paths, gains
        known = sorted(f"{adapters[number].digest[:16]} * {weight}" for number, weight in gains)
        self.identity = " + ".join(known)
        return is_other

    def _give_back(self, paths: Sequence[str]) -> None:
        for path in paths:
            self._shelf.give_back(path)
