"""What the worker tells a client. Plain, frozen values, drained in order on the client's thread."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llm.generate.xray import Xray

if TYPE_CHECKING:
    from llm.gpu.program import Floats
    from llm.text.tokenizer import Tokenizer
    from llm.text.tool_calls import ToolCall

# Why a request ended. Every accepted request ends exactly once, with one of these.
STOP = "stop"  # the model ended its turn
STOP_WORD = "stop_word"  # one of the caller's stop words came
LENGTH = "length"  # max_tokens reached, or the context is full
CANCELLED = "cancelled"
ERROR = "error"
COMPLETE = frozenset({STOP, STOP_WORD, LENGTH})

# Why there is no cache, where nothing went wrong.
GIVEN_UP = (
    "the cache was given up: the node left the tree, its model was replaced, or its conversation "
    "was reset before the cache was saved or loaded"
)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What there is to say about a loaded model. `tokenizer` may be used from any thread."""

    name: str
    architecture: str
    path: str
    device: str
    executor: str  # one of llm.gpu.executors.NAMES but "auto"
    chat_format: str  # the file's own "template", or a "fallback"
    context_length: int  # tokens
    memory_bytes: int
    load_s: float
    tokenizer: "Tokenizer"  # its `warning` is for the user


@dataclass(frozen=True, slots=True)
class AnswerStats:
    """Counts in tokens, times in seconds of the wall clock. Zero until known."""

    prompt_tokens: int = 0
    cached_tokens: int = 0  # of the prompt, those found in the KV and not computed again
    generated_tokens: int = 0
    context_used: int = 0  # tokens of prompt and answer together
    prompt_s: float = 0.0  # until the first token was chosen
    decode_s: float = 0.0  # from the first token to the latest
    thread: str = ""  # name of the thread that computed it

    @property
    def prompt_tps(self) -> float:
        computed = self.prompt_tokens - self.cached_tokens
        return computed / self.prompt_s if self.prompt_s > 0.0 else 0.0

    @property
    def decode_tps(self) -> float:
        """Tokens a second after the first, which belongs to the prompt's time."""
        return (self.generated_tokens - 1) / self.decode_s if self.decode_s > 0.0 else 0.0


@dataclass(frozen=True, slots=True)
class LoadProgressed:
    fraction: float  # 0 to 1


@dataclass(frozen=True, slots=True)
class Loaded:
    info: ModelInfo


@dataclass(frozen=True, slots=True)
class ExecutorChanged:
    """The model runs on another executor now: steps came later, or were given up."""

    executor: str


@dataclass(frozen=True, slots=True)
class LoadFailed:
    error: str  # one line
    details: str = ""  # a traceback, where the fault is ours and not the file's


@dataclass(frozen=True, slots=True)
class Truncated:
    """The conversation did not fit: its oldest messages, after one of role system, are left out."""

    id: int
    dropped: int  # messages, whole turns


@dataclass(frozen=True, slots=True)
class Likely:
    """A token that might have come, and how probable it was before any filter."""

    token: int
    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class Updated:
    id: int
    text: str  # the new piece; empty while a stop word or half a character is held back
    stats: AnswerStats
    token: int | None = None  # None: text that had been held back, at the end
    reasoning: str = ""  # the new piece of what the model thinks
    likely: tuple[Likely, ...] = ()  # the token, then the likeliest, where they were asked for


@dataclass(frozen=True, slots=True)
class Ended:
    id: int
    reason: str
    text: str  # all of the answer, the sum of the pieces
    stats: AnswerStats = AnswerStats()
    error: str = ""  # one line
    details: str = ""
    reasoning: str = ""  # all of what the model thought
    calls: "tuple[ToolCall, ...]" = ()  # of tools, which the model waits for
    faults: tuple[str, ...] = ()  # of calls that cannot be read, in words for the model


@dataclass(frozen=True, slots=True)
class ToolsCalled:
    """The request goes on when each of the calls, by its number, has been given its result."""

    id: int
    calls: "tuple[ToolCall, ...]"
    faults: tuple[str, ...] = ()  # of others, which cannot be read and have gone back


@dataclass(frozen=True, slots=True)
class StateSaved:
    """The file is what it is to be; with an error it lacks what was computed."""

    error: str = ""  # one line
    details: str = ""


@dataclass(frozen=True, slots=True)
class StateLoaded:
    """The conversation is there; with an error it has to be computed anew."""

    error: str = ""  # one line
    details: str = ""


@dataclass(frozen=True, slots=True)
class Embedded:
    """An embedding request is over, as it should be; otherwise it is told by `Ended`."""

    id: int
    vectors: "tuple[Floats, ...]"  # of each text (C,), of length 1
    source: str  # of the vectors: those of another one mean other things


Event = (
    LoadProgressed
    | Loaded
    | ExecutorChanged
    | LoadFailed
    | Truncated
    | Updated
    | Ended
    | ToolsCalled
    | StateSaved
    | StateLoaded
    | Embedded
    | Xray
)
