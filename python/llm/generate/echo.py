"""A model without a file, for tests of games: it says what it was asked, at once, always the same.

It is a `Model` like others, with a tokenizer and a chat format of the usual kinds; only its
executor computes nothing. A token is a byte, and a page of its cache holds the tokens themselves.
"""

import time
from collections.abc import Collection, Generator, Sequence

import numpy as np

from llm.errors import RequestError
from llm.generate.model import Model, require_context
from llm.generate.request import ECHO
from llm.generate.saved_state import ModelIdentity
from llm.gpu.adapters import Adapter, Gains
from llm.gpu.host_logits import HostLogits
from llm.gpu.layers import PartCost
from llm.gpu.operations import PAGE_CELLS
from llm.gpu.profile import RunProfile, WorkTime, make_profile
from llm.gpu.program import (
    Batch,
    Floats,
)
from llm.models.pooling import MEAN
from llm.text.chat_format import ChatFormat
from llm.text.chat_template import ChatTemplate
from llm.text.merging.sentencepiece import ScoredPairs
from llm.text.tokenizer import Tokenizer
from llm.text.vocabulary import BYTE, CONTROL, NORMAL, UNKNOWN, Vocabulary

NAME = "echo"
CHUNK_ROWS = 512
OTHERS = -1e6  # the logit of what is not said, where that which is has 0: no temperature draws it

# Bytes are their own tokens. A space is one more, as vocabularies of this kind write it otherwise.
SPACE, NOTHING, QUESTION, ANSWER, END, THINK, THOUGHT = range(256, 263)
TOKENS = [
    *(b"<0x%02X>" % byte for byte in range(256)),
    "▁".encode(),
    b"<unk>",
    b"<question>",
    b"<answer>",
    b"<end>",
    b"<think>",
    b"</think>",
]
CONTROLS = frozenset({QUESTION, ANSWER, END, THINK, THOUGHT})
TYPES = [BYTE] * 256 + [NORMAL, UNKNOWN] + [CONTROL] * len(CONTROLS)

TEMPLATE = """\
{%- for message in messages -%}
{%- if message['role'] == 'assistant' -%}
<answer>{{ message['content'] }}<end>
{%- else -%}
<question>{{ message['content'] }}
{%- endif -%}
{%- endfor -%}
<answer>
{%- if not enable_thinking -%}
<think></think>
{%- endif -%}"""


class EchoTokenizer(Tokenizer):
    """A byte, a token."""

    def __init__(self) -> None:
        vocabulary = Vocabulary(
            tokens=TOKENS,
            scores=np.zeros(len(TOKENS), np.float32),
            types=np.array(TYPES, np.uint8),
            bos_id=None,
            eos_id=END,
            unknown_id=NOTHING,
            end_ids=frozenset({END}),
            control_ids=CONTROLS | {NOTHING},
            add_bos=False,
            add_eos=False,
            add_space_prefix=False,
        )
        super().__init__(vocabulary, ScoredPairs(vocabulary))

    def encode(
        self,
        text: str,
        *,
        parse_special: bool = False,
        add_bos: bool | None = None,
        guarded: Collection[int] = frozenset(),
    ) -> list[int]:
        """As any tokenizer; a prompt (`parse_special`) says where the answer to it begins."""
        ids = super().encode(text, parse_special=parse_special, add_bos=add_bos, guarded=guarded)
        is_prompt = parse_special and ids != [THINK]  # which is asked for by itself, as a marker
        return [*ids, ANSWER] if is_prompt and ANSWER not in ids else ids

    def encode_reply(self, reply: str) -> list[int]:
        """With what it thinks before, where it begins with a block of that."""
        if not reply.startswith("<think>"):
            return self.encode(reply)
        thought, _, answer = reply.removeprefix("<think>").partition("</think>")
        return [THINK, *self.encode(thought), THOUGHT, *self.encode(answer)]


class EchoExecutor(HostLogits):
    """See `Executor`. What comes next follows from the tokens of a sequence alone."""

    name = NAME
    device = "CPU"
    slots = None
    rows_a_run = CHUNK_ROWS

    def __init__(self, reply: Sequence[int] | None, context: int) -> None:
        """Says `reply` to whatever it is asked; None: what it was asked."""
        self._reply = reply
        self._cells = np.full((-(-context // PAGE_CELLS), PAGE_CELLS), NOTHING, np.int32)
        self._tables: dict[int, list[int]] = {0: list(range(self.pages))}
        self._logits: Floats = np.zeros((0, len(TOKENS)), np.float32)
        self._tokens: Sequence[int] = ()  # of the latest run

    @property
    def memory_bytes(self) -> int:
        return self._cells.nbytes

    @property
    def pages(self) -> int:
        return len(self._cells)

    def grow(self, pages: int) -> None:
        more = np.full((pages - self.pages, PAGE_CELLS), NOTHING, np.int32)
        self._cells = np.concatenate([self._cells, more])

    def place(self, sequence: int, pages: Sequence[int], first: int = 0) -> None:
        self._tables.setdefault(sequence, [])[first : first + len(pages)] = pages

    def copy_page(self, source: int, target: int) -> None:
        self._cells[target] = self._cells[source]

    def read_page(self, page: int) -> bytes:
        return bytes(self._cells[page])

    def write_page(self, page: int, data: bytes) -> None:
        self._cells[page] = np.frombuffer(data, np.int32)

    def add_adapter(self, path: str, architecture: str) -> Adapter:
        """None is looked at: there is nothing that it could change."""
        del architecture
        return Adapter(0, path, {})

    def remove_adapter(self, number: int) -> None:
        pass

    def adapt(self, sequence: int, gains: Gains) -> None:
        pass

    def run(self, batch: Batch) -> None:
        self._tokens = batch.tokens
        sequences = batch.sequences or [0] * len(batch.tokens)
        for token, position, sequence in zip(batch.tokens, batch.positions, sequences, strict=True):
            page = self._tables[sequence][position // PAGE_CELLS]
            self._cells[page, position % PAGE_CELLS] = token
        self._logits = np.full((len(batch.outputs), len(TOKENS)), OTHERS, np.float32)  # (O, V)
        for output, row in enumerate(batch.outputs):
            self._logits[output, self._next(sequences[row], batch.positions[row] + 1)] = 0.0

    def hidden(self, rows: int) -> Floats:
        """One place for each token, so that texts of the same bytes are near each other."""
        return np.eye(len(TOKENS), dtype=np.float32)[list(self._tokens[:rows])]  # (T, V)

    def profile(self, batch: Batch) -> RunProfile:
        started = time.perf_counter()
        self.run(batch)
        return make_profile(1, [WorkTime(NAME, 1, (time.perf_counter() - started) * 1e6)])

    def profile_parts(self, batch: Batch) -> list[PartCost]:
        [work] = self.profile(batch).times
        cell = self._cells.itemsize
        return [PartCost(NAME, None, work.microseconds / 1e6, 0, cell, 0, heads=0, window=0)]

    def attention(self, batch: Batch, layer: int, pages: Sequence[int]) -> Floats:
        raise RequestError(f"layer {layer} has no attention; the echo has no layers")

    def close(self) -> None:
        self._cells = np.zeros((0, PAGE_CELLS), np.int32)

    def _next(self, sequence: int, count: int) -> int:
        """The token after the first `count` of a sequence."""
        ids = self._cells[self._tables[sequence]].reshape(-1)[:count].tolist()
        if ANSWER not in ids:
            return END
        start = _last(ids, ANSWER)
        text = ids[_last(ids[:start], QUESTION) + 1 : start] if self._reply is None else self._reply
        said = ids[start + 1 :]
        if said[:2] == [THINK, THOUGHT]:  # thinking is over, or was not wanted
            text = [THINK, THOUGHT, *text[_last(text, THOUGHT) + 1 :]]
        return text[len(said)] if len(said) < len(text) else END


def load_echo(
    path: str, *, executor: str, context_length: int, quantize: str = ""
) -> Generator[float, None, Model]:
    """As load_model(), of ECHO, perhaps with what it always says; it has no weights, so whichever
    `executor` is named, and whatever they should become."""
    require_context(context_length)
    yield 0.5
    tokenizer = EchoTokenizer()
    reply = path.removeprefix(ECHO)
    ids = tokenizer.encode_reply(reply) if reply else None
    runner = EchoExecutor(ids, context_length)
    chat_format = ChatFormat(tokenizer, ChatTemplate(TEMPLATE, {"eos_token": "<end>"}))
    chunk = min(CHUNK_ROWS, context_length)
    identity = ModelIdentity(NAME, 0, "", len(runner.read_page(0)))
    yield 1.0
    return Model(
        NAME,
        NAME,
        tokenizer,
        chat_format,
        context_length,
        chunk,
        runner,
        0,
        identity,
        MEAN,
        is_encoder=False,
    )


def _last(ids: Sequence[int], token: int) -> int:
    """Where it stands last; -1 where it does not."""
    return next((place for place in range(len(ids) - 1, -1, -1) if ids[place] == token), -1)
