"""A model without weights, for the `generate` stage: bytes are tokens, and no file is read.

It checks what a real one relies on: one thread, chunks no longer than allowed, positions that
follow on what is in the cache, pages that no other sequence has where it writes. What it says is
either a script or, without one, drawn from a hash of everything in the cache of its sequence, so
that a wrong cache gives another text.
"""

import threading
import zlib
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from support.fake_slots import STATE_BYTES, FakeSlots

from llm.errors import DeviceMemoryError, ModelFileError, NumericError
from llm.generate.adapters import AdapterShelf
from llm.generate.model import Row
from llm.generate.pace import Pace
from llm.generate.saved_state import ModelIdentity
from llm.generate.sequence import CachedSequences
from llm.gpu.adapters import Adapter, Gains
from llm.gpu.adjustments import Adjustments
from llm.gpu.operations import PAGE_CELLS
from llm.gpu.program import Candidates, draw_on_host
from llm.gpu.sampler import Draw, Sampler
from llm.text.chat_format import Prompt
from llm.text.grammar import GrammarCompiler
from llm.text.messages import Message
from llm.text.reply_style import ReplyStyle

BOS, END = 256, 257
VOCABULARY = 258
WIDTH = 6
NOTHING = -1  # in a cell
TURN_END = "\nUser:"  # the chat format's own stop word


class FakeTokenizer:
    vocab_size = VOCABULARY
    bos_id: int | None = BOS
    eos_id: int | None = END
    add_bos = True
    end_ids = frozenset({END})

    def encode(
        self, text: str, *, parse_special: bool = False, add_bos: bool | None = None
    ) -> list[int]:
        bos = [BOS] if (self.add_bos if add_bos is None else add_bos) else []
        if not parse_special:
            return bos + list(text.encode())
        return bos + [
            id
            for index, part in enumerate(text.split("<end>"))
            for id in ([END] if index else []) + list(part.encode())
        ]

    def encode_more(self, text: str) -> list[int]:
        return list(text.encode())

    def token_text(self, token: int) -> str:
        return {BOS: "<bos>", END: "<end>"}.get(token) or chr(token)

    def encode_whole(self, text: str) -> list[int]:
        return self.encode(text)

    def piece(self, token: int) -> bytes:
        return bytes([token]) if token < 256 else b""

    def is_control(self, token: int) -> bool:
        return token >= 256


class FakeChatFormat:
    opens_thinking = False  # in each prompt
    source = "fallback"
    stop_words = (TURN_END,)

    reply_style = ReplyStyle.of_template("<think> </think>")
    short_style = ReplyStyle(thinking=(("<", "</think>"),))  # opened by one token
    thinking_openers: frozenset[int] = frozenset()

    def encode(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[object] = (),
        allow_thinking: bool = True,
    ) -> Prompt:
        lines = [f"{message['role']}: {message['content']}\n" for message in messages]
        text = "".join(lines) + "assistant: " + "<think>" * self.opens_thinking
        return Prompt(FakeTokenizer().encode(text), is_thinking=self.opens_thinking)


class FixedPace(Pace):
    """Times do not count: sequences run together, or take turns."""

    def __init__(self, *, are_turns: bool) -> None:
        super().__init__()
        self._are_turns = are_turns

    def prefers_turns(self, count: int) -> bool:
        return self._are_turns


class Outputs:
    """A model's output rows, as an executor numbers them."""

    def __init__(self, model: "FakeModel") -> None:
        self._model = model

    def candidates(self, output: int, k: int, adjustments: Adjustments | None) -> Candidates:
        return self._model.candidates(k, adjustments, output)


class FakeModel:
    """`before_forward(number)` is called before forward 0, 1, 2 …: it may wait, or raise."""

    name, architecture, path, device = "fake", "fake", "fake.gguf", "no device"
    memory_bytes = 0
    pooling = "mean"
    is_encoder = False

    def __init__(
        self,
        script: Iterable[int] | None = None,
        *,
        context_length: int = 128,
        chunk_size: int = 8,
        before_forward: Callable[[int], None] = lambda number: None,
        nan_at: int | None = None,  # the number of the choice of a token that finds NaN
        ahead: int = 1,
        runs_ahead: int = 1,
        takes_turns: bool = False,  # several sequences, in place of runs together
        is_recurrent: bool = False,
    ) -> None:
        self.tokenizer, self.chat_format = FakeTokenizer(), FakeChatFormat()
        self.grammars = GrammarCompiler(self.tokenizer)  # type: ignore[arg-type]
        self.context_length, self.chunk_size, self.executor = (
            context_length,
            chunk_size,
            "reference",
        )
        self.ahead, self.runs_ahead = ahead, runs_ahead
        self.is_closed = False
        self.forwards: list[tuple[int, int]] = []  # (position, how many tokens)
        self.asked_for: list[tuple[int, Adjustments | None]] = []  # (k, adjustments)
        self._script = None if script is None else iter(script)
        self._before_forward = before_forward
        self._nan_at = nan_at
        self.together: list[int] = []  # how many sequences a run was for
        self.cells = np.full((-(-context_length // PAGE_CELLS), PAGE_CELLS), NOTHING)
        self.most_pages = 1000
        self._tables = {0: list(range(self.pages))}
        self._lengths: dict[int, int] = {}
        self._scores: list[np.ndarray] = []  # (V,) of each output row of the last run
        self._hidden: list[np.ndarray] = []  # (WIDTH,) of each row of a run without outputs
        self._thread = threading.get_ident()
        self.slots = FakeSlots() if is_recurrent else None
        state_bytes = STATE_BYTES if is_recurrent else 0
        page_bytes = self.cells[0].nbytes
        self.identity = ModelIdentity("fake", 7, "of its header", page_bytes, state_bytes)
        self.pace = FixedPace(are_turns=takes_turns)
        self.gains: dict[int, Gains] = {}  # of sequences
        self.loaded_adapters: dict[int, str] = {}  # paths, by number
        self.adapters = AdapterShelf(self, "fake")
        self.sequences = CachedSequences(self, self, self.slots)  # type: ignore[arg-type]

    @property
    def pages(self) -> int:
        return len(self.cells)

    def grow(self, pages: int) -> None:
        self._check()
        if pages > self.most_pages:
            raise DeviceMemoryError(f"{pages} pages do not fit")
        more = np.full((pages - self.pages, PAGE_CELLS), NOTHING)
        self.cells = np.concatenate([self.cells, more])

    def place(self, sequence: int, pages: Sequence[int], first: int = 0) -> None:
        table = self._tables.setdefault(sequence, [])
        assert first <= len(table), "a gap in the table"
        table[first : first + len(pages)] = pages

    def copy_page(self, source: int, target: int) -> None:
        self.cells[target] = self.cells[source]

    def read_page(self, page: int) -> bytes:
        self._check()
        return self.cells[page].tobytes()

    def write_page(self, page: int, data: bytes) -> None:
        self._check()
        assert not self.sequences.pool.is_shared(page), "another sequence's cells"
        self.cells[page] = np.frombuffer(data, self.cells.dtype)

    def add_adapter(self, path: str, architecture: str) -> Adapter:
        self._check()
        if "missing" in path:
            raise ModelFileError(path, "file", "is missing")
        number = max(self.loaded_adapters, default=0) + 1
        self.loaded_adapters[number] = path
        return Adapter(number, path, {})

    def remove_adapter(self, number: int) -> None:
        self._check()
        assert all(number not in dict(gains) for gains in self.gains.values()), "in use"
        del self.loaded_adapters[number]

    def adapt(self, sequence: int, gains: Gains) -> None:
        self._check()
        self.gains[sequence] = gains

    def kv(self, sequence: int = 0) -> list[int]:
        """What its latest run could see."""
        found = self.cells[self._tables.get(sequence, [])].reshape(-1)
        return found[: self._lengths.get(sequence, 0)].tolist()

    def forward(
        self, ids: Sequence[int], position: int, outputs: Sequence[int], sequence: int = 0
    ) -> None:
        assert 0 < len(ids) <= self.chunk_size, "a chunk of a size that the model refuses"
        self._begin_run()
        self.forwards.append((position, len(ids)))
        self._write(sequence, ids, position)
        if outputs:
            assert list(outputs) == [len(ids) - 1], "only the last row is of use"
            self._scores = [self._next_scores(sequence)]
        else:
            ends = range(position + 1, position + len(ids) + 1)
            self._hidden = [hidden_row(self.kv(sequence)[:end]) for end in ends]

    def forward_rows(self, rows: Sequence[Row]) -> None:
        assert len({row.sequence for row in rows}) == len(rows) <= self.chunk_size
        gains = {self.gains.get(row.sequence, ()) for row in rows}
        assert len(gains) == 1, "rows with different adapters in one run"
        self._begin_run()
        self.together.append(len(rows))
        for row in rows:
            self._write(row.sequence, [row.token], row.position)
        self._scores = [self._next_scores(row.sequence) for row in rows]

    def _begin_run(self) -> None:
        self._check()
        self._scores, self._hidden = [], []
        self._before_forward(len(self.forwards) + len(self.together))

    def _write(self, sequence: int, ids: Sequence[int], position: int) -> None:
        assert position + len(ids) <= self.context_length, "beyond the context"
        for place, id in enumerate(ids, position):
            page = self._tables[sequence][place // PAGE_CELLS]
            assert not self.sequences.pool.is_shared(page), "another sequence's cells"
            self.cells[page, place % PAGE_CELLS] = id
        self._lengths[sequence] = position + len(ids)
        assert NOTHING not in self.kv(sequence), "positions in between were never computed"
        if self.slots is not None:
            self.slots.take_in(sequence, ids, position)
            assert self.slots.holds(sequence, self.kv(sequence)), "the state of other tokens"

    def hidden(self) -> np.ndarray:
        self._check()
        assert self._hidden, "the last run had outputs"
        return np.stack(self._hidden)

    def candidates(
        self, k: int, adjustments: Adjustments | None = None, output: int = -1
    ) -> Candidates:
        self._check()
        assert self._scores, "logits of an earlier forward"
        if len(self.asked_for) == self._nan_at:
            raise NumericError("logits are NaN")
        self.asked_for.append((k, adjustments))
        if adjustments is not None:
            self._scores[output] = adjustments.apply(self._scores[output])
        scores = self._scores[output]
        order = np.argsort(-scores, kind="stable")[: k or VOCABULARY]
        return Candidates(order.astype(np.int64), scores[order])

    def candidates_of_rows(
        self, k: int, adjustments: Sequence[Adjustments | None]
    ) -> list[Candidates]:
        assert len(adjustments) == len(self._scores)
        return [self.candidates(k, found, output) for output, found in enumerate(adjustments)]

    def draw(self, draws: Sequence[Draw]) -> list[int | None]:
        return draw_on_host(Outputs(self), draws)  # type: ignore[arg-type]

    def decode_rows(
        self, rows: Sequence[Row], draws: Sequence[Draw], count: int
    ) -> list[list[int]]:
        assert 0 < count <= self.runs_ahead, "more than is quick"
        found: list[list[int]] = [[] for _ in rows]
        for run in range(count):
            assert all(draw.adjustments is None for draw in draws)
            self.forward_rows(rows)
            drawn = self.draw([replace(draw, position=draw.position + run) for draw in draws])
            for row, token in zip(found, drawn, strict=True):
                assert token is not None
                row.append(token)
            rows = [
                replace(row, token=tokens[-1], position=row.position + 1)
                for row, tokens in zip(rows, found, strict=True)
            ]
        return found

    def decode(
        self,
        token: int,
        position: int,
        count: int,
        sampler: Sampler,
        stops: Collection[int],
        sequence: int = 0,
    ) -> list[int]:
        assert 0 < count <= (self.ahead if sampler.fits_device else 1), "more than is quick"
        found: list[int] = []
        for place in range(position, position + count):
            self.forward([found[-1] if found else token], place, [0], sequence)
            best = self.candidates(sampler.candidates)
            found.append(int(best.ids[sampler.choose(best.logits, place + 1)]))
            if found[-1] in stops:
                break
        return found

    def close(self) -> None:
        self._check()
        self.is_closed = True

    def _check(self) -> None:
        assert threading.get_ident() == self._thread, "a model belongs to the thread that loaded it"
        assert not self.is_closed, "used after it was closed"

    def _next_scores(self, sequence: int) -> np.ndarray:
        if self._script is not None:
            scores = np.zeros(VOCABULARY, np.float32)
            scores[next(self._script)] = 30.0
            return scores
        seen = np.asarray(self.kv(sequence), np.uint16).tobytes()
        seen += np.asarray(self.gains.get(sequence, ())).tobytes()
        random = np.random.default_rng(zlib.crc32(seen))
        scores = random.normal(0.0, 2.0, VOCABULARY).astype(np.float32)
        scores[128:] = -100.0  # ASCII only, and it never ends by itself
        return scores


def hidden_row(ids: Sequence[int]) -> np.ndarray:
    """What a token becomes that stands at the end of these, (WIDTH,)."""
    seed = zlib.crc32(np.asarray(ids, np.uint16).tobytes())
    return np.random.default_rng(seed).normal(0.0, 1.0, WIDTH).astype(np.float32)


def says(*answers: str) -> list[int]:
    """A script: the answers one after another, each followed by the end of the turn."""
    return [id for answer in answers for id in (*answer.encode(), END)]


class FakeLoader:
    """Stands in for `load_model`. Makes the models in order, in `pieces` steps each.

    An exception among `models` is raised instead, half-way; `before_piece(number)` may wait, or
    raise.
    """

    def __init__(
        self,
        *models: Callable[[], FakeModel] | Exception,
        pieces: int = 4,
        before_piece: Callable[[int], None] = lambda number: None,
    ) -> None:
        self._models = iter(models)
        self._pieces = pieces
        self._before_piece = before_piece
        self.calls: list[tuple[str, str, int]] = []
        self.loaded: list[FakeModel] = []
        self.threads: set[str] = set()
        self.abandoned = 0  # loads that were closed before their end

    def __call__(
        self, path: str, *, executor: str, context_length: int, quantize: str
    ) -> Generator[float, None, Any]:
        del quantize
        self.calls.append((path, executor, context_length))
        try:
            for piece in range(self._pieces):
                self.threads.add(threading.current_thread().name)
                self._before_piece(piece)
                if piece == self._pieces // 2:
                    made = next(self._models)
                    if isinstance(made, Exception):
                        raise made
                yield (piece + 1) / self._pieces
        except GeneratorExit:
            self.abandoned += 1
            raise
        model = made()
        self.loaded.append(model)
        return model
