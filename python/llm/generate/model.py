"""A loaded model: its tokenizer, its program on an executor, and one key/value cache.

Knows nothing of sampling, conversations or Godot. Belongs to the thread that loaded it.
"""

import os
from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llm.errors import RequestError
from llm.files.opening import open_model
from llm.generate.adapters import AdapterShelf
from llm.generate.pace import Pace
from llm.generate.saved_state import ModelIdentity
from llm.generate.sequence import CachedSequences
from llm.gpu.adjustments import Adjustments
from llm.gpu.executors import choose_executor
from llm.gpu.profile import RunProfile, weight_bytes
from llm.gpu.program import ROWS_APART, Batch, Candidates, Executor, Floats
from llm.gpu.sampler import Draw, Sampler
from llm.models.pooling import pooling_of
from llm.models.registry import Limits, make_program
from llm.text.chat_format import ChatFormat
from llm.text.grammar import GrammarCompiler
from llm.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from llm.gpu.layers import PartCost

MIN_CONTEXT = 16  # tokens; less holds no question and answer
WORD = 4  # bytes
WEIGHTS_FROM = 0.1  # the fraction done of a load when the executor starts on its part


@dataclass(frozen=True, slots=True)
class Row:
    """A token of one of several sequences that run together."""

    sequence: int
    token: int
    position: int


class Model:
    def __init__(
        self,
        path: str,
        architecture: str,
        tokenizer: Tokenizer,
        chat_format: ChatFormat,
        context_length: int,
        chunk_size: int,
        executor: Executor,
        token_bytes: int,
        identity: ModelIdentity,
        pooling: str,
        *,
        is_encoder: bool,
    ) -> None:
        self.path = path
        self.name = _name_of(path)
        self.architecture = architecture
        self.tokenizer = tokenizer
        self.chat_format = chat_format
        self.grammars = GrammarCompiler(tokenizer)
        self.context_length = context_length  # tokens, prompt and answer together
        self.chunk_size = chunk_size  # most tokens that one forward takes
        self.token_bytes = token_bytes  # of weights that one token reads
        self.identity = identity  # of its cache
        self.pooling = pooling  # of texts to vectors: see llm.models.pooling
        self.is_encoder = is_encoder  # makes vectors of whole texts, and no tokens
        self._executor = executor
        self._outputs = 0
        self._rows = 0
        self.adapters = AdapterShelf(executor, architecture)
        self.sequences = CachedSequences(self, executor, executor.slots)
        self.pace = Pace()

    @property
    def executor(self) -> str:
        return self._executor.name

    @property
    def device(self) -> str:
        return self._executor.device

    @property
    def ahead(self) -> int:
        """How many tokens decode() makes at once without keeping the thread for long."""
        return self._executor.ahead

    @property
    def submit_seconds(self) -> float:
        """How long decode() may keep the GPU busy at a time. The longer, the quicker it is, by some
        per cent; but frames may have to wait for it, and tokens come in larger groups."""
        return self._executor.submit_seconds

    @submit_seconds.setter
    def submit_seconds(self, seconds: float) -> None:
        self._executor.submit_seconds = seconds

    @property
    def memory_bytes(self) -> int:
        """Bytes of weights, cache and activations on the executor's device."""
        return self._executor.memory_bytes

    def forward(
        self, ids: Sequence[int], position: int, outputs: Sequence[int], sequence: int = 0
    ) -> None:
        """Runs up to `chunk_size` tokens of a sequence, the first at `position`, and keeps logits
        of some rows.

        Keys and values of positions before are used as they stand; those of the rows are written.
        `outputs` are row numbers; without any, hidden rows are kept. Raises RequestError beyond the
        context or the chunk, and for logits of an encoder.
        """
        self._check_place(len(ids), position)
        if outputs:
            self._require_head()
        self._outputs, self._rows = len(outputs), len(ids)
        sequences = [sequence] * len(ids)
        self._executor.run(Batch(ids, range(position, position + len(ids)), outputs, sequences))

    def candidates(
        self, k: int, adjustments: Adjustments | None = None, output: int = -1
    ) -> Candidates:
        """Of an output row: the k largest logits; k = 1 is the argmax, k = 0 gives all.

        Sorted downwards, ties by the lower id. Raises NumericError on NaN or infinity.
        """
        if self._outputs == 0:
            raise RequestError("no logits were kept: name a row in `outputs`")
        return self._executor.candidates(output % self._outputs, k, adjustments)

    @property
    def runs_ahead(self) -> int:
        """How many runs decode_rows() makes at once without keeping the thread for long."""
        return self._executor.runs_ahead

    def draw(self, draws: Sequence[Draw]) -> list[int | None]:
        """A token for each of as many of the first output rows; None where none may come.

        To be asked once a run. Raises NumericError.
        """
        return self._executor.draw(draws)

    def decode_rows(
        self, rows: Sequence[Row], draws: Sequence[Draw], count: int
    ) -> list[list[int]]:
        """The next `count` tokens of each of several sequences, drawn without adjustments.

        Keys and values of all but the last are written. Raises NumericError, and RequestError
        beyond the context.
        """
        for row in rows:
            self._check_place(count, row.position)
        self._outputs = len(rows)
        return self._executor.decode_rows(_batch(rows), draws, count)

    def forward_rows(self, rows: Sequence[Row]) -> None:
        """Runs a token for each of up to ROWS_APART sequences, and keeps logits of all."""
        for row in rows:
            self._check_place(1, row.position)
        self._outputs = len(rows)
        self._executor.run(_batch(rows))

    def decode(
        self,
        token: int,
        position: int,
        count: int,
        sampler: Sampler,
        stops: Collection[int],
        sequence: int = 0,
    ) -> list[int]:
        """The next `count` tokens of a sequence after `token` at `position`, one after the other.

        Fewer where one of `stops` was drawn, which is then the last. Keys and values of all but the
        last are written. Raises NumericError, and RequestError beyond the context.
        """
        if count < 1 or position < 0 or position + count > self.context_length:
            end = position + count
            raise RequestError(f"{end} tokens do not fit the context of {self.context_length}")
        self._outputs = 1
        return self._executor.decode(token, position, count, sampler, stops, sequence)

    def candidates_of_rows(
        self, k: int, adjustments: Sequence[Adjustments | None]
    ) -> list[Candidates]:
        """As `candidates`, of all output rows at once; k from 1 up. Raises NumericError."""
        return self._executor.candidates_of_rows(k, adjustments)

    def logits(self) -> Floats:
        """The logits of the output rows, (O, V) float32."""
        return self._executor.logits(self._outputs)

    def hidden(self) -> Floats:
        """The rows of the latest forward, which was without outputs: (T, C) float32."""
        return self._executor.hidden(self._rows)

    def profile(self, ids: Sequence[int], position: int) -> RunProfile:
        """Runs tokens as `forward` does, with logits of the last, and times each kind of work."""
        self._check_place(len(ids), position)
        self._require_head()
        self._outputs = 1
        batch = Batch(ids, range(position, position + len(ids)), [len(ids) - 1])
        return self._executor.profile(batch)

    def profile_parts(self, token: int, position: int, sequence: int) -> "list[PartCost]":
        """Runs a token of a sequence, and times each part of the model."""
        self._check_place(1, position)
        self._require_head()
        self._outputs = 1
        return self._executor.profile_parts(Batch([token], [position], [0], [sequence]))

    def attention(
        self, ids: Sequence[int], position: int, layer: int, sequence: int, pages: Sequence[int]
    ) -> Floats:
        """How much each head of a layer has, at the last of `ids`, of the tokens up to it, whose
        keys are in these pages: (H, position of that + 1). They stay; logits are lost.

        The first of `ids` is at `position`. Raises RequestError where the layer has no attention.
        """
        self._check_place(len(ids), position)
        self._outputs = 0
        positions = range(position, position + len(ids))
        batch = Batch(ids, positions, [], [sequence] * len(ids))
        return self._executor.attention(batch, layer, pages)

    def close(self) -> None:
        """Frees the weights and the cache; twice is harmless."""
        self._executor.close()

    def _require_head(self) -> None:
        if self.is_encoder:
            raise RequestError(
                f"{self.path} is an embedding model: it makes vectors of texts, and no answers; "
                "use it with LLMEmbedding, and another model to chat"
            )

    def _check_place(self, count: int, position: int) -> None:
        if not 0 < count <= self.chunk_size:
            raise RequestError(f"{count} tokens in one run; 1 to {self.chunk_size} fit")
        end = position + count
        if position < 0 or end > self.context_length:
            raise RequestError(f"{end} tokens do not fit the context of {self.context_length}")


def _name_of(path: str) -> str:
    """A folder's path may end with a slash."""
    return os.path.basename(os.path.normpath(path))


def require_context(context_length: int) -> None:
    """Raises RequestError where that is too short."""
    if context_length < MIN_CONTEXT:
        raise RequestError(f"context_length is {context_length}; it must be {MIN_CONTEXT} or more")


def _batch(rows: Sequence[Row]) -> Batch:
    return Batch(
        [row.token for row in rows],
        [row.position for row in rows],
        range(len(rows)),
        [row.sequence for row in rows],
    )


def load_model(
    path: str,
    *,
    executor: str = "auto",
    context_length: int = 4096,
    max_outputs: int = ROWS_APART,
    chunk_rows: int | None = None,
    is_patient: bool = False,
    quantize: str = "",
) -> Generator[float, None, Model]:
    """Loads a model; yields the fraction done, returns the Model.

    `executor` and `is_patient` are as choose_executor() takes them; `context_length`, in tokens, is
    cut to what the file was trained for; `chunk_rows` are the most tokens of one forward, None
    leaves them to the executor, and encoders take as many as they can; `quantize` is as
    open_model() takes it. Closing the generator frees everything. Raises LLMError.
    """
    require_context(context_length)
    with open_model(path, quantize) as file:
        yield 0.02
        architecture = file.metadata.str("general.architecture")
        trained = file.metadata.int(f"{architecture}.context_length", default=context_length)
        context = max(MIN_CONTEXT, min(context_length, trained))
        choice = choose_executor(executor, is_patient=is_patient)
        yield 0.06
        chunk = min(chunk_rows or choice.chunk_rows, context)
        program = make_program(file, Limits(context, chunk, max_outputs))
        tokenizer = Tokenizer.from_metadata(file.metadata)
        yield WEIGHTS_FROM
        chat_format = ChatFormat.from_metadata(file.metadata, tokenizer)
        runner = yield from _scaled(choice.load(program, file), WEIGHTS_FROM, 1.0)
        token_bytes = weight_bytes(program.record(1, 1))
        page_bytes = program.page_words * WORD
        state_bytes = program.state_words * WORD
        digest = file.digest_without_data()
        identity = ModelIdentity(_name_of(path), file.size, digest, page_bytes, state_bytes)
        pooling = pooling_of(file.metadata)
    chunk = program.max_rows if program.is_encoder else min(chunk, runner.rows_a_run)
    return Model(
        path,
        architecture,
        tokenizer,
        chat_format,
        context,
        chunk,
        runner,
        token_bytes,
        identity,
        pooling,
        is_encoder=program.is_encoder,
    )


def _scaled(
    steps: Generator[float, None, Executor], start: float, end: float
) -> Generator[float, None, Executor]:
    """Passes fractions on, mapped to a part of the whole, and the result back."""
    while True:
        try:
            fraction = next(steps)
        except StopIteration as finished:
            executor: Executor = finished.value
            return executor
        try:
            yield start + (end - start) * fraction
        except GeneratorExit:
            steps.close()
            raise
