"""Draws the next token: penalties, top-k, top-p, min-p, temperature, draw, in llama.cpp's order.

Each filter is a pure function on logits sorted from the largest down, and keeps a beginning of
them; at least one always stays. The model applies penalties and sorts, where the logits are.
"""

from collections import Counter, deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from llm.generate.request import RANDOM_SEED, SamplingParams
from llm.gpu.penalties import Penalties

if TYPE_CHECKING:
    from llm.generate.model import Model

Logits = NDArray[np.float32]  # (k,), largest first

# Up to here the device picks the largest; beyond, or without top-k, all logits are read back.
MOST_CANDIDATES = 256


class Sampler:
    """The sampler of one request: its parameters, its random numbers and the tokens seen lately."""

    def __init__(self, params: SamplingParams, seen: Iterable[int] = ()) -> None:
        self._params = params
        # Drawn anew for each request, so that a seed gives the same text whatever ran before.
        seed = None if params.seed == RANDOM_SEED else params.seed
        self._random = np.random.default_rng(seed)
        self._window: deque[int] = deque(seen, maxlen=params.penalty_window)

    def sample(self, model: "Model") -> int:
        """The next token after the model's last output row. Raises NumericError."""
        candidates = model.candidates(self._candidates_needed(), self._penalties())
        index = choose(candidates.logits, self._params, self._random)
        token = int(candidates.ids[index])
        self._window.append(token)
        return token

    @property
    def is_greedy(self) -> bool:
        """Whether the likeliest token is taken each time, whatever came before."""
        params = self._params
        unpenalised = (params.repeat_penalty, params.presence_penalty, params.frequency_penalty)
        return params.temperature == 0.0 and unpenalised == (1.0, 0.0, 0.0)

    def _candidates_needed(self) -> int:
        if self._params.temperature == 0.0:
            return 1
        return self._params.top_k if self._params.top_k <= MOST_CANDIDATES else 0

    def _penalties(self) -> Penalties | None:
        params = self._params
        penalties = Penalties(
            counts=Counter(self._window),
            repeat=params.repeat_penalty,
            presence=params.presence_penalty,
            frequency=params.frequency_penalty,
        )
        return None if penalties.changes_nothing else penalties


def choose(logits: Logits, params: SamplingParams, random: np.random.Generator) -> int:
    """Index of the drawn one among penalised logits (k,), largest first."""
    if params.temperature == 0.0:
        return 0
    logits = top_k(logits, params.top_k)
    logits = top_p(logits, params.top_p)
    logits = min_p(logits, params.min_p)
    return draw(probabilities(logits, params.temperature), random.random())


def top_k(logits: Logits, k: int) -> Logits:
    """The k largest. 0 is off."""
    return logits[:k] if k > 0 else logits


def top_p(logits: Logits, p: float) -> Logits:
    """The fewest that together have probability p or more. 1 is off."""
    if p >= 1.0:
        return logits
    reached = np.cumsum(probabilities(logits)) >= p  # (k,)
    return logits[: int(np.argmax(reached)) + 1] if reached.any() else logits


def min_p(logits: Logits, p: float) -> Logits:
    """Those at least p times as likely as the likeliest. 0 is off."""
    if p <= 0.0:
        return logits
    kept = logits >= logits[0] + np.log(p)  # (k,)
    return logits[: max(1, int(np.count_nonzero(kept)))]


def probabilities(logits: Logits, temperature: float = 1.0) -> NDArray[np.float64]:
    """Softmax of logits / temperature, (k,). The largest comes first, so nothing overflows."""
    wide = logits.astype(np.float64)
    weights: NDArray[np.float64] = np.exp((wide - wide[0]) / temperature)
    weights /= weights.sum()
    return weights


def draw(chances: NDArray[np.float64], uniform: float) -> int:
    """Index where the running sum of `chances` passes `uniform`, a number in [0, 1)."""
    index = int(np.searchsorted(np.cumsum(chances), uniform, side="right"))
    return min(index, len(chances) - 1)  # rounding may leave the sum a hair under 1
