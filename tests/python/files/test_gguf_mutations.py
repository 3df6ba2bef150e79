"""Thousands of damaged headers: each opens or raises LLMError, at once and in little memory."""

import random
import signal
import struct
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
from support.gguf_builder import GgufBuilder
from support.sample_gguf import gemma_shaped, rich

from llm.errors import LLMError
from llm.files.cursor import StringArray
from llm.files.gguf import GgufFile
from llm.files.repack import PLANES, pack

SECONDS = 60  # for one test; 5 where this was written, and a hang would take for ever
EXTREMES = (0, 1, 2, 3, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
# A sample, and how many times each test damages it: 2,340 times in all.
SAMPLES = {"rich": (rich, 300), "gemma": (lambda: gemma_shaped(1_000), 90)}

Mutation = Callable[[bytearray, random.Random], None]


@contextmanager
def deadline() -> Iterator[None]:
    def expire(signal_number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"not done after {SECONDS} seconds")

    signal.signal(signal.SIGALRM, expire)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)


def use(path: str) -> None:
    """Opens a file and looks at all that it holds."""
    with GgufFile.open(path) as file:
        for key in file.metadata:
            if isinstance(file.metadata[key], np.ndarray):
                file.metadata.numbers(key)[-1:].sum()
            if isinstance(file.metadata[key], StringArray):
                assert len(file.metadata[key][-1:]) <= 1
        for name, info in file.tensors.items():
            data = file.data(name)
            assert len(data) == info.size
            data[[0, -1]].sum()  # a fault here would end the process
            if info.format.name in PLANES and info.size < 1 << 16:
                pack(data, info.format, info.size // info.format.bytes)


class Damaged:
    """One sample on disk, to be damaged over and over."""

    def __init__(self, made: GgufBuilder, times: int, path: Path) -> None:
        self.made = made
        self.times = times
        self.path = path
        self.header = made.build()[: made.marks["header end"]]
        made.write(path)
        self.outcomes: Counter[str] = Counter()

    def try_header(self, header: bytes) -> None:
        """Opens the file with another header in place of its own."""
        with self.path.open("r+b") as file:
            file.write(header)
        self.try_open()

    def try_open(self) -> None:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try:
            use(str(self.path))
            self.outcomes["opened"] += 1
        except LLMError as error:
            assert str(self.path) in str(error)
            assert "\n" not in str(error)
            self.outcomes[type(error).__name__] += 1
        used = tracemalloc.get_traced_memory()[1] - before
        # Nothing larger than the file. (The mapping itself is not counted; a string that is not
        # UTF-8 is there twice for a moment, in Python's own error.)
        assert used < 2 * self.made.size


@pytest.fixture(params=SAMPLES)
def damaged(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Damaged]:
    tracemalloc.start()
    try:
        with deadline():
            build, times = SAMPLES[request.param]
            yield Damaged(build(), times, tmp_path / "m.gguf")
    finally:
        tracemalloc.stop()


def flip(header: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice([1, 1, 1, 2, 4, 16])):
        header[chance.randrange(len(header))] ^= 1 << chance.randrange(8)


def scribble(header: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(header) - 16)
    header[start : start + 16] = chance.randbytes(16)


def cut_out(header: bytearray, chance: random.Random) -> None:
    """Moves what follows, so that lengths are read from the middle of something else."""
    start = chance.randrange(24, len(header) - 64)
    del header[start : start + chance.randrange(1, 64)]


@pytest.mark.parametrize("mutate", [flip, scribble, cut_out], ids=lambda mutate: mutate.__name__)
def test_random_damage(damaged: Damaged, mutate: Mutation) -> None:
    chance = random.Random(mutate.__name__)
    for _ in range(damaged.times):
        header = bytearray(damaged.header)
        mutate(header, chance)
        damaged.try_header(bytes(header).ljust(len(damaged.header), b"\0"))
    assert damaged.outcomes.total() == damaged.times
    assert damaged.outcomes["ModelFileError"] > damaged.times // 10


def test_fields_with_extreme_values(damaged: Damaged) -> None:
    """Counts, lengths, ranks, dimensions, types, formats and offsets, twice for each of `times`."""
    sizes = {"count": 8, "length": 8, "rank": 4, "type": 4, "format": 4, "offset": 8, "version": 4}
    fields = [
        (place, sizes.get(mark.split()[-1], 8))
        for mark, place in damaged.made.marks.items()
        if mark.split()[-1] in sizes or " dimension " in mark
    ]
    chance = random.Random(0)
    for place, size in chance.choices(fields, k=damaged.times):
        for value in chance.sample([*EXTREMES, len(damaged.header), damaged.made.size], 2):
            header = bytearray(damaged.header)
            header[place : place + size] = struct.pack("<Q", value)[:size]
            damaged.try_header(bytes(header))
    assert damaged.outcomes.total() == 2 * damaged.times
    assert damaged.outcomes["ModelFileError"] > damaged.times
    assert damaged.outcomes["UnsupportedModelError"] > 0


def test_truncation_at_any_point(damaged: Damaged) -> None:
    chance = random.Random(0)
    places = chance.sample([*damaged.made.marks.values()], damaged.times - 40 - 20)
    places += [*range(40), *(chance.randrange(damaged.made.size) for _ in range(20))]
    for size in sorted(places, reverse=True):
        with damaged.path.open("r+b") as file:
            file.truncate(size)
        damaged.try_open()
    assert damaged.outcomes == {"ModelFileError": damaged.times}
