"""What one rendering of a stranger's template may cost. Knows nothing of Jinja.

A worker thread has no signals and nobody may end it from outside, so the template has to come by
here often enough: `tick` before each operation, `weigh` before what walks through a value, and
`kept` for each new value. As no value is heavier than CHARACTERS, no single operation is long.
"""

import time
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from contextlib import contextmanager
from typing import Any, NoReturn

from llm.errors import RequestError

SECONDS = 1.0  # of the thread's own time: what other threads do meanwhile does not count
CHARACTERS = 1 << 21  # in one value, or in the prompt
TOTAL_CHARACTERS = 1 << 26  # in all values made on the way
SOURCE_CHARACTERS = 1 << 16  # twice the longest template in use; compiling takes a second
DEPTH = 64  # of calls within calls
NESTING = 100  # of lists in lists: hashing a deep tuple overflows the stack
RANGE = 100_000
INTEGER_BITS = 4096

_ITEM = 32  # characters that an item in a list counts for: about what it takes in memory
_WALKED = (list, tuple, set, frozenset, KeysView, ValuesView, ItemsView)


class Budget:
    """Every method raises RequestError, naming the limit, where one is exceeded."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """A new rendering begins."""
        self._deadline = time.thread_time() + SECONDS
        self._made = 0
        self._depth = 0

    def tick(self) -> None:
        if time.thread_time() > self._deadline:
            _refuse(f"takes longer than {SECONDS:g} s")

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Around a call: macros may call themselves."""
        self.tick()
        if self._depth == DEPTH:
            _refuse(f"nests calls more than {DEPTH} deep")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def expect(self, characters: int) -> None:
        """Before a value of that size, or an upper bound of it, is made."""
        if characters > CHARACTERS:
            _refuse(f"makes a value of more than {CHARACTERS:,} characters")

    def weigh(self, value: Any) -> int:
        """Characters in all of `value`; what it holds twice counts twice, as if it were printed."""
        if isinstance(value, str):
            self.expect(len(value))
            return len(value)
        weight, level = 0, [value]
        for _ in range(NESTING):
            within: list[Any] = []
            for item in level:
                weight += _ITEM
                if isinstance(item, str):
                    weight += len(item)
                elif isinstance(item, int):
                    self.expect_bits(item.bit_length())
                elif isinstance(item, Mapping):
                    within += item.keys()
                    within += item.values()
                elif isinstance(item, _WALKED):
                    within += item
                self.expect(weight)
            if not within:
                return weight
            level = within
        _refuse(f"makes a value nested more than {NESTING} deep")

    def expect_bits(self, bits: float) -> None:
        if bits > INTEGER_BITS:
            _refuse(f"makes an integer of more than {INTEGER_BITS} bits")

    def kept(self, value: Any) -> Any:
        """`value`, which is new. Iterators become lists, as they would be work put off."""
        if isinstance(value, Iterator):
            value = list(self._taken(value))
        self._spend(self.weigh(value))
        return value

    def concat(self, pieces: Iterable[str]) -> str:
        return "".join(self._taken(pieces))

    def range(self, *ends: int) -> range:
        """What templates call `range`."""
        found = range(*ends)
        # len() raises OverflowError beyond the largest C integer, which is an answer as well.
        if len(found) > RANGE:
            _refuse(f"counts to more than {RANGE:,} in one range")
        return found

    def _taken(self, values: Iterable[Any]) -> Iterator[Any]:
        weight = 0
        for value in values:
            self.tick()
            weight += self.weigh(value)
            self.expect(weight)
            yield value
        self._spend(weight)

    def _spend(self, characters: int) -> None:
        self._made += characters
        if self._made > TOTAL_CHARACTERS:
            _refuse(f"makes more than {TOTAL_CHARACTERS:,} characters on the way")


def _refuse(problem: str) -> NoReturn:
    raise RequestError(f"it {problem}, which is the limit")
