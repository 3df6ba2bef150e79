"""What a client asks of the worker. Plain, frozen values that are safe to hand to another thread.

Nothing here imports numpy: nodes build these on the main thread.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llm.errors import RequestError
from llm.generate.tools import Tool
from llm.generate.truncation import CONTEXT_POLICIES, TRUNCATE
from llm.models.pooling import POOLINGS

if TYPE_CHECKING:
    from llm.generate.saved_state import SavedState
    from llm.text.answer_format import AnswerFormat
    from llm.text.messages import Message

RANDOM_SEED = -1
MOST_PROBS = 100
ECHO = "echo:"  # begins the path of a model without a file; what it always says may follow
AUTO = "auto"  # the pooling of the model file

# name -> lowest and highest value that makes sense
SAMPLING_RANGES = {
    "temperature": (0.0, math.inf),
    "top_k": (0, math.inf),
    "top_p": (0.0, 1.0),
    "min_p": (0.0, 1.0),
    "repeat_penalty": (0.01, math.inf),
    "presence_penalty": (-math.inf, math.inf),
    "frequency_penalty": (-math.inf, math.inf),
    "penalty_window": (0, 512),
    "typical_p": (0.0, 1.0),
    "top_n_sigma": (0.0, math.inf),
    "xtc_probability": (0.0, 1.0),
    "xtc_threshold": (0.0, 1.0),
    "dynamic_temperature_range": (0.0, math.inf),
    "dynamic_temperature_exponent": (0.0, math.inf),
    "mirostat_tau": (0.0, math.inf),
    "mirostat_eta": (0.0, 1.0),
    "dry_multiplier": (0.0, math.inf),
    "dry_base": (1.0, math.inf),
    "dry_allowed_length": (0, math.inf),
    "dry_window": (0, math.inf),
    "seed": (RANDOM_SEED, 2**63 - 1),
}


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How the next token is drawn. The defaults are llama.cpp's.

    Raises RequestError, naming the argument, its value and the range, when one is out of range.
    """

    temperature: float = 0.8  # 0 is greedy
    top_k: int = 40  # 0 is off
    top_p: float = 0.95  # 1 is off
    min_p: float = 0.05  # 0 is off
    repeat_penalty: float = 1.0  # 1 is off
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    penalty_window: int = 64  # how many of the latest tokens are penalised
    seed: int = RANDOM_SEED
    typical_p: float = 1.0  # 1 is off
    top_n_sigma: float = 0.0  # 0 is off
    xtc_probability: float = 0.0  # 0 is off
    xtc_threshold: float = 0.1
    dynamic_temperature_range: float = 0.0  # 0 is off
    dynamic_temperature_exponent: float = 1.0
    mirostat: bool = False  # its second version, in place of all filters
    mirostat_tau: float = 5.0  # bits of surprise that it aims at
    mirostat_eta: float = 0.1
    dry_multiplier: float = 0.0  # 0 is off
    dry_base: float = 1.75
    dry_allowed_length: int = 2  # tokens
    dry_window: int = 1024  # tokens that are looked back; 0: all
    dry_breakers: tuple[str, ...] = ("\n", ":", '"', "*")
    logit_bias: tuple[tuple[str | int, float], ...] = ()  # of a token, or of those of a text

    def __post_init__(self) -> None:
        for name, (low, high) in SAMPLING_RANGES.items():
            value = getattr(self, name)
            # NaN fails every comparison, so ask for "inside" and not for "outside".
            if not (low <= value <= high and math.isfinite(value)):
                raise RequestError(f"{name} is {value}; it must be {_range_text(low, high)}")
        for key, bias in self.logit_bias:
            if math.isnan(bias) or bias == math.inf:
                raise RequestError(f"logit_bias of {key!r} is {bias}; it must be a number")

    @property
    def penalizes(self) -> bool:
        penalties = (self.repeat_penalty, self.presence_penalty, self.frequency_penalty)
        return penalties != (1.0, 0.0, 0.0)

    @property
    def is_plain(self) -> bool:
        """Whether top-k, top-p, min-p and temperature are all there is to the draw."""
        others = (self.typical_p, self.top_n_sigma, self.xtc_probability)
        return (
            others == (1.0, 0.0, 0.0)
            and self.dynamic_temperature_range == 0.0
            and not self.mirostat
        )


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """Which model, and how. Two equal specs mean the same loaded model."""

    path: str  # in the file system's own terms; or ECHO and a reply
    executor: str
    context_length: int  # tokens
    quantize: str = ""  # as open_model() takes it

    def __post_init__(self) -> None:
        if not self.path:
            raise RequestError("model_path is empty; it must name a GGUF file")


@dataclass(frozen=True, slots=True)
class AdapterUse:
    """A LoRA adapter, and how much it counts: 1 as it was trained, 0 not at all."""

    path: str  # in the file system's own terms
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not self.path:
            raise RequestError("an adapter's path is empty; it must name a GGUF file")
        if not math.isfinite(self.weight):
            raise RequestError(f"the weight of {self.path} is {self.weight}; it must be a number")


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How long an answer may be, how it is drawn, and what ends it."""

    sampling: SamplingParams = SamplingParams()
    max_tokens: int = 0  # 0: as many as the context holds
    stop_words: tuple[str, ...] = ()
    context_policy: str = TRUNCATE  # where a conversation no longer fits
    priority: int = 0  # of several prompts the one with the highest comes first
    frame_seconds: float = 0.0  # of the GPU's time, that a frame leaves to answers; 0: all of it
    allow_thinking: bool = True  # before the answer, where the model does
    tools: tuple[Tool, ...] = ()  # that the model may call
    max_tool_rounds: int = 8  # how often it may, in one request
    format: "AnswerFormat | None" = None  # that the answer must keep to
    n_probs: int = 0  # likeliest tokens to tell of at each place, with their probabilities
    adapters: tuple[AdapterUse, ...] = ()
    is_xrayed: bool = False  # how each token comes about is told

    def __post_init__(self) -> None:
        if self.tools and self.format is not None:
            raise RequestError(
                f"there are tools and a {self.format.kind}; an answer that has a format calls no "
                "tool, so set one of them only"
            )
        if self.max_tool_rounds < 0:
            raise RequestError(f"max_tool_rounds is {self.max_tool_rounds}; it must be 0 or more")
        if self.max_tokens < 0:
            raise RequestError(f"max_tokens is {self.max_tokens}; it must be 0 or more")
        if not 0.0 <= self.frame_seconds < math.inf:
            milliseconds = self.frame_seconds * 1000.0
            raise RequestError(f"gpu_ms_per_frame is {milliseconds:g}; it must be 0 or more")
        if not 0 <= self.n_probs <= MOST_PROBS:
            raise RequestError(f"n_probs is {self.n_probs}; it must be from 0 to {MOST_PROBS}")
        if self.context_policy not in CONTEXT_POLICIES:
            known = ", ".join(CONTEXT_POLICIES)
            raise RequestError(f"context_policy is '{self.context_policy}'; there are {known}")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be asked. `question` is None for a raw prompt, which the history does not keep."""

    id: int
    question: str | None
    prompt: str  # raw; or the system prompt of a question
    spec: LoadSpec
    options: AnswerOptions
    role: str = "user"  # that asks
    is_again: bool = False  # in place of the latest turn


@dataclass(frozen=True, slots=True)
class Request:
    """One answer to be made. `prompt` is raw text to go on from, or a conversation's messages."""

    id: int
    prompt: "str | tuple[Message, ...]"
    options: AnswerOptions


@dataclass(frozen=True, slots=True)
class SaveCache:
    """What was computed is to be added to the file that has `state` already."""

    path: str
    state: "SavedState"


@dataclass(frozen=True, slots=True)
class LoadCache:
    """What a file holds of a conversation that was computed is to be there again."""

    path: str
    adapters: tuple[AdapterUse, ...] = ()  # that the next answer will have


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """A vector to be made of each text."""

    id: int
    texts: tuple[str, ...]
    pooling: str = AUTO

    def __post_init__(self) -> None:
        if self.pooling not in (AUTO, *POOLINGS):
            known = ", ".join((AUTO, *POOLINGS))
            raise RequestError(f"pooling is '{self.pooling}'; there are {known}")
        for index, text in enumerate(self.texts):
            if not text.strip():
                raise RequestError(f"{self.name_of(index)} is empty")

    def name_of(self, index: int) -> str:
        """Of a text, to the one who asked."""
        return "the text" if len(self.texts) == 1 else f"text {index}"


AnyRequest = Request | EmbeddingRequest


def _range_text(low: float, high: float) -> str:
    if math.isinf(high):
        return "a finite number" if math.isinf(low) else f"{low:g} or more"
    return f"from {low:g} to {high:g}"
