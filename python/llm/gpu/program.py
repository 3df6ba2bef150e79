"""What an executor needs to hold and run a model, and what the executors have in common."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from llm.errors import NumericError
from llm.gpu.adjustments import FORBIDDEN, Adjustments
from llm.gpu.operations import PAGE_CELLS, Weight
from llm.gpu.profile import RunProfile
from llm.gpu.sampler import Draw, Sampler
from llm.gpu.tape import Tape

if TYPE_CHECKING:
    from llm.gpu.adapters import Adapter, Gains
    from llm.gpu.layers import PartCost

ROW_BUCKETS = (1, 8, 16, 32, 128, 256)  # rows of the tapes that are recorded; the most of a program
LANE_BUCKETS = (1, 2, 4, *ROW_BUCKETS[1:])  # where a product has lanes: see device/lanes.py
ROWS_APART = 32  # of a run for several sequences
MAX_SEQUENCES = 64
WORD = 4  # bytes
FRAME_SECONDS = 0.016  # of a game, at 60 frames a second

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Program:
    """A model as the executors see it: its weights, its cache, and tapes for any number of rows."""

    weights: tuple[Weight, ...]  # of the file, each once
    constants: Mapping[str, Floats]  # computed ones, by the name of their Weight
    vocabulary: int  # V
    context: int  # most tokens of a sequence
    page_words: int  # 4-byte words of a page of the cache, which has cells of all layers
    max_rows: int  # most tokens a run
    max_outputs: int  # most rows of logits a run
    record: Callable[[int, int], Tape]  # (rows, outputs) -> tape
    tables: tuple[Weight, ...] = ()  # of the file, too, not multiplied: see llm.gpu.host_tables
    tables_in_ram: bool = True

    @property
    def far_tables(self) -> tuple[Weight, ...]:
        """Those on the device: they lie in buffers of their own."""
        return () if self.tables_in_ram else self.tables

    @property
    def names_in_ram(self) -> set[str]:
        """Of tables that the host reads."""
        return {table.name for table in self.tables} if self.tables_in_ram else set()

    @property
    def cache_bytes(self) -> int:
        """Of one whole sequence."""
        return -(-self.context // PAGE_CELLS) * self.page_words * WORD

    state_words: int = 0  # 4-byte words of the recurrent state of a sequence, of all layers

    @property
    def is_encoder(self) -> bool:
        """Whether it has no head, and its rows see what comes after them: a text is one run."""
        return self.vocabulary == 0


@dataclass(frozen=True, slots=True)
class Batch:
    """One run: token ids and their positions, row by row, and which rows' logits to keep.

    Rows of several sequences, whose numbers are `sequences`, are ROWS_APART at most.
    """

    tokens: Sequence[int]
    positions: Sequence[int]
    outputs: Sequence[int]
    sequences: Sequence[int] = ()  # of each row; without any, all are of sequence 0

    @property
    def are_apart(self) -> bool:
        """Whether rows are of several sequences."""
        return len(set(self.sequences)) > 1


@dataclass(frozen=True, slots=True)
class Candidates:
    """Tokens that may come next, best first; ties stand in the order of their ids."""

    ids: Ids  # (k,)
    logits: Floats  # (k,)


class StateSlots(Protocol):
    """Each holds the recurrent state of a sequence: as it is, or as it was at some token."""

    @property
    def count(self) -> int:
        """That there is room for."""

    def grow(self, count: int) -> None:
        """Makes room for so many; what the others hold stays. DeviceMemoryError."""

    def place(self, sequence: int, slot: int) -> None:
        """Says in which slot runs find the state of a sequence, and leave it.

        Sequence 0 has slot 0, until something else is said. What a slot holds does not matter to a
        run that begins at position 0.
        """

    def copy(self, source: int, target: int) -> None:
        """What a slot holds becomes that of another, too. DeviceMemoryError."""

    def read(self, slot: int) -> bytes:
        """Its float32 state of all layers: the same bytes on every executor."""

    def write(self, slot: int, data: bytes) -> None:
        """What read() gave, also of another process, is there from now on."""


class Executor(Protocol):
    """Runs a program's tapes. Belongs to the thread that made it."""

    name: str
    device: str
    ahead: int  # tokens that decode() makes at once, within `submit_seconds`
    submit_seconds: float  # that decode() may keep a device busy at a time; may be changed
    runs_ahead: int  # that decode_rows() makes at once, within `submit_seconds`
    rows_a_run: int  # tokens that run() takes without keeping a device busy for too long

    @property
    def slots(self) -> StateSlots | None:
        """Of recurrent state; None where the model has none."""

    @property
    def memory_bytes(self) -> int:
        """Of weights, cache and activations."""

    @property
    def pages(self) -> int:
        """That the key/value cache has room for."""

    def grow(self, pages: int) -> None:
        """Makes room for so many pages; what the others hold stays. DeviceMemoryError."""

    def place(self, sequence: int, pages: Sequence[int], first: int = 0) -> None:
        """Says which pages a sequence has, from its page `first` on.

        Sequence 0 has the first pages that there are, until something else is said.
        """

    def copy_page(self, source: int, target: int) -> None:
        """Keys and values of all layers of a page become those of another, too."""

    def read_page(self, page: int) -> bytes:
        """Its float16 keys and values of all layers: the same bytes on every executor."""

    def write_page(self, page: int, data: bytes) -> None:
        """What read_page() gave, also of another process, is there from now on."""

    def add_adapter(self, path: str, architecture: str) -> "Adapter":
        """Loads a LoRA adapter, which must be one of a model of that architecture.

        Raises ModelFileError where it does not fit the model, DeviceMemoryError.
        """

    def remove_adapter(self, number: int) -> None:
        """Frees one that no sequence has."""

    def adapt(self, sequence: int, gains: "Gains") -> None:
        """Says which adapters runs of a sequence have from now on, and with what weights; all rows
        of a run have the same. DeviceMemoryError."""

    def run(self, batch: Batch) -> None:
        """Runs the forward pass; keys, values, and logits or hidden rows stay on the device."""

    def candidates(self, output: int, k: int, adjustments: Adjustments | None) -> Candidates:
        """The k largest logits of one output row; k = 0 gives all of them. NumericError.

        Adjustments are made in place: those of a second call come on top.
        """

    def candidates_of_rows(
        self, k: int, adjustments: Sequence[Adjustments | None]
    ) -> list[Candidates]:
        """The k largest logits, k from 1 up, of as many of the first output rows. NumericError.

        As of `candidates`, but quicker.
        """

    def draw(self, draws: Sequence[Draw]) -> list[int | None]:
        """A token for each of as many of the first output rows; None where none may come.

        Adjustments are made in place: those of a second call come on top. NumericError.
        """

    def decode_rows(self, batch: Batch, draws: Sequence[Draw], count: int) -> list[list[int]]:
        """Runs of a token for each of several sequences, `count` of them: the tokens of each.

        The first run is `batch`, all of whose rows are outputs; each of the others goes on from
        the tokens that `draws`, which adjust nothing, found. Keys and values of all but the last
        are kept. NumericError.
        """

    def decode(
        self,
        token: int,
        position: int,
        count: int,
        sampler: Sampler,
        stops: Collection[int],
        sequence: int = 0,
    ) -> list[int]:
        """The next `count` tokens of a sequence after `token` at `position`, drawn by `sampler`.

        Fewer where one of `stops` was drawn, which is then the last. Keys and values of all but the
        last are kept. NumericError.
        """

    def logits(self, outputs: int) -> Floats:
        """The logits of the first output rows, (O, V)."""

    def hidden(self, rows: int) -> Floats:
        """The first rows after the output norm, (T, C), of a run that was without outputs."""

    def profile(self, batch: Batch) -> RunProfile:
        """Runs the batch, and times each kind of work of it."""

    def profile_parts(self, batch: Batch) -> "list[PartCost]":
        """Runs the batch, and times each part of the model."""

    def attention(self, batch: Batch, layer: int, pages: Sequence[int]) -> Floats:
        """How much each head of a layer, at the last row, has of the cells up to there: (H, cells).

        Those of all rows are in these pages, and stay as they are. Raises RequestError where the
        layer has no attention.
        """

    def close(self) -> None:
        """Frees everything; twice is harmless."""


class Runner(Protocol):
    """What runs and finds candidates: see `Executor`."""

    def run(self, batch: Batch) -> None: ...

    def candidates(self, output: int, k: int, adjustments: Adjustments | None) -> Candidates: ...

    def draw(self, draws: Sequence[Draw]) -> list[int | None]: ...


def decode_by_runs(
    executor: Runner,
    token: int,
    position: int,
    count: int,
    sampler: Sampler,
    stops: Collection[int],
    sequence: int,
) -> list[int]:
    """`Executor.decode` in runs of one token."""
    found: list[int] = []
    for place in range(position, position + count):
        executor.run(Batch([found[-1] if found else token], [place], [0], [sequence]))
        best = executor.candidates(0, sampler.candidates, None)
        found.append(int(best.ids[sampler.choose(best.logits, place + 1)]))
        if found[-1] in stops:
            break
    return found


def draw_on_host(executor: Runner, draws: Sequence[Draw]) -> list[int | None]:
    """`Executor.draw` from candidates."""
    found: list[int | None] = []
    for output, draw in enumerate(draws):
        best = executor.candidates(output, draw.sampler.candidates, draw.adjustments)
        allowed = best.logits[best.logits > FORBIDDEN]
        index = draw.sampler.choose(allowed, draw.position) if allowed.size else None
        found.append(None if index is None else int(best.ids[index]))
    return found


def decode_rows_by_runs(
    executor: Runner, batch: Batch, draws: Sequence[Draw], count: int
) -> list[list[int]]:
    """`Executor.decode_rows` in runs of their own."""
    found: list[list[int]] = [[] for _ in draws]
    for _ in range(count):
        executor.run(batch)
        tokens = [token or 0 for token in executor.draw(draws)]
        for row, token in zip(found, tokens, strict=True):
            row.append(token)
        positions = [position + 1 for position in batch.positions]
        batch = replace(batch, tokens=tokens, positions=positions)
        draws = [replace(draw, position=draw.position + 1) for draw in draws]
    return found


def until_stop(tokens: Sequence[int], stops: Collection[int]) -> list[int]:
    """The tokens up to the first that is one of `stops`, that one included."""
    end = next((place for place, token in enumerate(tokens, 1) if token in stops), len(tokens))
    return list(tokens[:end])


def bucket(rows: int, limit: int, sizes: Sequence[int] = ROW_BUCKETS) -> int:
    """The rows that a tape is recorded for, so that few tapes serve every batch size."""
    for size in sizes:
        if rows <= size <= limit:
            return size
    return limit


def largest(logits: Floats, k: int) -> Candidates:
    """The k largest of the logits (V,), all of them for k = 0. NumericError on NaN, infinity."""
    finite = np.isfinite(logits)
    if not finite.all():
        raise not_finite(f"{int((~finite).sum()):,} of {logits.size:,}")
    if 0 < k < logits.size:
        threshold = np.partition(logits, -k)[-k]
        chosen = np.flatnonzero(logits >= threshold)
    else:
        chosen = np.arange(logits.size)
    order = np.lexsort((chosen, -logits[chosen]))[: k or None]
    ids = chosen[order].astype(np.int64)
    return Candidates(ids, logits[ids])


def not_finite(how_many: str) -> NumericError:
    return NumericError(
        f"{how_many} logits are NaN or infinite; the weights in the file are damaged or overflow"
    )
