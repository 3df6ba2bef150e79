"""What operations become: dispatches, and the scratch through which some of them work together."""

from dataclasses import dataclass

from llm.gpu.dispatch.launches import Groups
from llm.gpu.operations import FLOAT_BYTES, Region


@dataclass(frozen=True, slots=True)
class Scratch:
    """Floats `start` to `start + size` of the work buffer."""

    start: int
    size: int

    def part(self, floats: int, what: str, at: int = 0) -> Region:
        """`floats` of it from `at` on, as bytes. ValueError past its end: our own mistake."""
        if at + floats > self.size:
            raise ValueError(
                f"{what} needs {at + floats:,} floats of scratch; there are {self.size:,}"
            )
        start = self.start + at
        return Region("work", start * FLOAT_BYTES, (start + floats) * FLOAT_BYTES)


@dataclass(frozen=True, slots=True)
class Dispatch:
    kernel: str
    parameters: bytes  # the push constants
    groups: Groups
    shard: int  # weight buffer that it reads
    reads: tuple[Region, ...]
    writes: tuple[Region, ...]
    has_slots: bool = False  # bound in place of the key/value cache
