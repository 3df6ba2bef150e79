"""What has been said lately: counts for penalties, and repeated runs for DRY."""

from collections import Counter, deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from llm.generate.request import SamplingParams

if TYPE_CHECKING:
    from llm.text.tokenizer import Tokenizer

MOST_BIASES = 256  # tokens that DRY makes less likely at a time; the worst ones
LARGEST_BIAS = 1e4  # of a logit: beyond it nothing changes any more


class SeenTokens:
    """The latest `window` tokens, counted."""

    def __init__(self, window: int, seen: Iterable[int]) -> None:
        self._window: deque[int] = deque(seen, maxlen=window)

    def note(self, token: int) -> None:
        self._window.append(token)

    def counts(self) -> Counter[int]:
        return Counter(self._window)


class RepeatedRuns:
    """DRY, "don't repeat yourself": a token that would go on with a run that was said before loses
    multiplier * base ^ (length of the run - allowed length), from the allowed length on.

    Runs end where a breaker comes. Source: p-e-w's proposal, as in llama.cpp.
    """

    def __init__(self, params: SamplingParams, tokenizer: "Tokenizer", seen: Iterable[int]) -> None:
        self._params = params
        self._tokenizer = tokenizer
        self._breakers = [word.encode() for word in params.dry_breakers if word]
        self._tail = b""  # of the text, as a breaker may lie across tokens
        self._tokens: list[int] = []
        # for each token, how many up to it are the same as at the end of all
        self._lengths = np.zeros(0, np.int64)
        for token in seen:
            self.note(token)

    def note(self, token: int) -> None:
        tokens = np.asarray(self._tokens, np.int64)
        before = np.concatenate(([0], self._lengths[:-1])) if tokens.size else self._lengths
        self._lengths = np.append(np.where(tokens == token, before + 1, 0), 0)
        self._tokens.append(token)
        if self._ends_run(token):
            self._lengths[:] = 0
        excess = len(self._tokens) - self._params.dry_window
        if self._params.dry_window and excess > 0:
            del self._tokens[:excess]
            self._lengths = self._lengths[excess:]

    def biases(self) -> dict[int, float]:
        """What is added to logits, by token: nothing above 0."""
        params = self._params
        longest: dict[int, int] = {}
        lengths = np.minimum(self._lengths, np.arange(1, self._lengths.size + 1))  # in the window
        for place in np.flatnonzero(lengths >= max(1, params.dry_allowed_length)):
            following = self._tokens[place + 1]
            longest[following] = max(longest.get(following, 0), int(lengths[place]))
        worst = sorted(longest.items(), key=lambda item: -item[1])[:MOST_BIASES]
        return {token: -self._penalty(length) for token, length in worst}

    def _penalty(self, length: int) -> float:
        params = self._params
        try:
            grown = params.dry_base ** (length - params.dry_allowed_length)
        except OverflowError:
            return LARGEST_BIAS
        return min(params.dry_multiplier * grown, LARGEST_BIAS)

    def _ends_run(self, token: int) -> bool:
        if self._tokenizer.is_control(token):
            self._tail = b""
            return True
        text = self._tail + self._tokenizer.piece(token)
        found = any(word in text for word in self._breakers)
        longest = max(map(len, self._breakers), default=1)
        self._tail = b"" if found or longest == 1 else text[1 - longest :]
        return found
