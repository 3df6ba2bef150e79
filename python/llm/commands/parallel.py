"""How fast several answers of one model come at once."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from llm.generate.answer import Wanted
from llm.generate.decoding import decode
from llm.generate.model import Model
from llm.generate.request import SamplingParams
from llm.generate.sampling import Chooser
from llm.generate.sequence import CachedSequence

RUNS = 3  # measured ones, after a warm-up


@dataclass(frozen=True, slots=True)
class ParallelRates:
    """Tokens a second of all answers together, and of one that is alone."""

    answers: int
    tps: float
    alone_tps: float

    @property
    def facts(self) -> dict[str, Any]:
        return {**asdict(self), "times": self.tps / self.alone_tps}


def parallel_rates(model: Model, prompt: Sequence[int], answers: int, count: int) -> ParallelRates:
    """Greedy answers of `count` tokens, whose prompts begin with different tokens."""
    sequences = [model.sequences.open() for _ in range(answers)]
    for number, sequence in enumerate(sequences):
        _read(sequence, [prompt[(place + number) % len(prompt)] for place in range(len(prompt))])
    try:
        rates = [
            median([_rate(some, len(prompt), count) for _ in range(1 + RUNS)][1:])
            for some in (sequences, sequences[:1])
        ]
    finally:
        for sequence in sequences:
            sequence.close()
    return ParallelRates(answers, *rates)


def _read(sequence: CachedSequence, prompt: list[int]) -> None:
    size = sequence.model.chunk_size
    for start in range(0, len(prompt), size):
        sequence.forward(prompt[start : start + size], want_logits=False)


def _rate(sequences: Sequence[CachedSequence], start: int, count: int) -> float:
    """Tokens a second of all, each after its first `start` tokens."""
    for sequence in sequences:
        sequence.keep_common([*sequence.ids[:start], 0])
    chooser = Chooser(SamplingParams(temperature=0.0), sequences[0].model.tokenizer)
    tokens = [sequence.ids[-1] for sequence in sequences]
    left = [count] * len(sequences)
    started = time.perf_counter()
    while any(left):
        wants = [
            Wanted(sequence, [token], chooser, most)
            for sequence, token, most in zip(sequences, tokens, left, strict=True)
        ]
        for number, found in enumerate(decode(wants, len(wants))):
            if isinstance(found, Exception):
                raise found
            tokens[number] = found[-1]
            left[number] = max(0, left[number] - len(found))
    return len(sequences) * count / (time.perf_counter() - started)
