"""What operations read and write: activations, weights, cells of the cache, recurrent state.

A row is one token of one sequence. All activations are float32.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from llm.files.formats import BlockFormat

FLOAT_BYTES = 4
PAGE_CELLS = 64  # of the key/value cache; one for each token
SLAB_ALIGNMENT = 4  # words: slots start at a quad


class Count(IntEnum):
    """Which run-time count limits the rows of an operation; the value is its word in the state."""

    ROWS = 0  # tokens of this run
    OUTPUTS = 1  # rows whose logits are wanted


@dataclass(frozen=True, slots=True)
class Region:
    """A range of bytes of one buffer, for finding out which operations must wait for which."""

    space: str  # "work", "cache", "slots" or "state"
    start: int
    end: int

    def overlaps(self, other: "Region") -> bool:
        return self.space == other.space and self.start < other.end and other.start < self.end

    def covers(self, other: "Region") -> bool:
        return self.space == other.space and self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class Tensor:
    """Activations: `rows` rows of `width` floats in the work buffer, from float `offset` on.

    The rows follow each other, but where they are columns of a wider tensor.
    """

    offset: int
    rows: int
    width: int
    of_width: int = 0  # of the wider tensor

    @property
    def stride(self) -> int:
        """Floats from row to row."""
        return self.of_width or self.width

    def columns(self, first: int, width: int) -> "Tensor":
        """Some of them, of each row."""
        return Tensor(self.offset + first, self.rows, width, self.stride)

    @property
    def region(self) -> Region:
        start = self.offset * FLOAT_BYTES
        floats = (self.rows - 1) * self.stride + self.width if self.rows else 0
        return Region("work", start, start + floats * FLOAT_BYTES)


@dataclass(frozen=True, slots=True)
class Weight:
    """A matrix of the model file in its block format, or a constant of the architecture.

    Where it is only some rows of a matrix of the file, `part_of` is the name of that one: of each
    `of_height` rows there, `height` from `first_row` on; all from there on where these are 0.
    """

    name: str
    format: BlockFormat
    rows: int
    columns: int
    part_of: str = ""
    first_row: int = 0  # of these rows, in that matrix
    height: int = 0
    of_height: int = 0

    @property
    def tensor(self) -> str:
        """The matrix of the file."""
        return self.part_of or self.name

    @property
    def size(self) -> int:
        """Bytes in its format."""
        return self.format.size_of(self.rows * self.columns)


@dataclass(frozen=True, slots=True)
class CacheSlab:
    """What a page has of one layer: keys and values of PAGE_CELLS cells, `width` float16 each.

    They start at two word offsets from where the page starts.
    """

    keys: int
    values: int
    width: int

    @classmethod
    def of_layers(cls, count: int, width: int) -> "list[CacheSlab]":
        """Of layers that are all alike, one after the other."""
        return cls.of_widths([width] * count)

    @classmethod
    def of_widths(cls, widths: Sequence[int]) -> "list[CacheSlab]":
        """One after the other."""
        slabs: list[CacheSlab] = []
        for width in widths:
            keys = slabs[-1].end if slabs else 0
            slabs.append(cls(keys, keys + PAGE_CELLS * width // 2, width))
        return slabs

    @property
    def end(self) -> int:
        """The word after it."""
        return self.values + PAGE_CELLS * self.width // 2

    @property
    def regions(self) -> tuple[Region, Region]:
        """The same ones in each page."""
        size = PAGE_CELLS * self.width * 2
        return (
            Region("cache", self.keys * 4, self.keys * 4 + size),
            Region("cache", self.values * 4, self.values * 4 + size),
        )


@dataclass(frozen=True, slots=True)
class StateSlab:
    """What a slot has of one layer: `floats` float32, from word `start` of the slot on."""

    start: int
    floats: int

    @classmethod
    def after(cls, slabs: "list[StateSlab]", floats: int) -> "StateSlab":
        """The next one of a slot that has these."""
        return cls(slabs[-1].end if slabs else 0, floats)

    @property
    def end(self) -> int:
        """The word after it, where another may start."""
        return self.start + -(-self.floats // SLAB_ALIGNMENT) * SLAB_ALIGNMENT

    @property
    def region(self) -> Region:
        """The same one in each slot."""
        start = self.start * FLOAT_BYTES
        return Region("slots", start, start + self.floats * FLOAT_BYTES)
