"""What a client asks of the worker. Plain, frozen values that are safe to hand to another thread.

Nothing here imports numpy: nodes build these on the main thread.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llm.errors import RequestError
from llm.generate.truncation import CONTEXT_POLICIES, TRUNCATE
from llm.models.pooling import POOLINGS

if TYPE_CHECKING:
    from llm.text.chat_format import Message

RANDOM_SEED = -1
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
    "penalty_window": (0, math.inf),
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

    def __post_init__(self) -> None:
        for name, (low, high) in SAMPLING_RANGES.items():
            value = getattr(self, name)
            # NaN fails every comparison, so ask for "inside" and not for "outside".
            if not (low <= value <= high and math.isfinite(value)):
                raise RequestError(f"{name} is {value}; it must be {_range_text(low, high)}")


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """Which model, and how. Two equal specs mean the same loaded model."""

    path: str  # in the file system's own terms
    executor: str
    context_length: int  # tokens

    def __post_init__(self) -> None:
        if not self.path:
            raise RequestError("model_path is empty; it must name a GGUF file")


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How long an answer may be, how it is drawn, and what ends it."""

    sampling: SamplingParams = SamplingParams()
    max_tokens: int = 0  # 0: as many as the context holds
    stop_words: tuple[str, ...] = ()
    context_policy: str = TRUNCATE  # where a conversation no longer fits

    def __post_init__(self) -> None:
        if self.max_tokens < 0:
            raise RequestError(f"max_tokens is {self.max_tokens}; it must be 0 or more")
        if self.context_policy not in CONTEXT_POLICIES:
            known = ", ".join(CONTEXT_POLICIES)
            raise RequestError(f"context_policy is '{self.context_policy}'; there are {known}")


@dataclass(frozen=True, slots=True)
class Request:
    """One answer to be made. `prompt` is raw text to go on from, or a conversation's messages."""

    id: int
    prompt: "str | tuple[Message, ...]"
    options: AnswerOptions


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
