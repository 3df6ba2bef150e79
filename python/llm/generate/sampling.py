"""Chooses the tokens of one request: penalties for those seen lately, then a draw.

The model finds the largest logits, where the logits are; llm.gpu.sampler defines the draw, which a
device can repeat for several tokens at once as long as no penalty looks back at them.
"""

import secrets
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from llm.generate.request import RANDOM_SEED, SamplingParams
from llm.gpu.penalties import Penalties
from llm.gpu.sampler import Sampler, choose_rows

if TYPE_CHECKING:
    from llm.generate.model import Model
    from llm.gpu.program import Candidates


class Chooser:
    """What one request draws with: its sampler, its penalties and the tokens seen lately."""

    def __init__(self, params: SamplingParams, seen: Iterable[int] = ()) -> None:
        self._params = params
        seed = secrets.randbits(64) if params.seed == RANDOM_SEED else params.seed
        self.sampler = Sampler(params.temperature, params.top_k, params.top_p, params.min_p, seed)
        self._window: deque[int] = deque(seen, maxlen=params.penalty_window)

    @property
    def looks_back(self) -> bool:
        """Whether the tokens chosen so far change what is chosen next, beyond the logits."""
        params = self._params
        penalties = (params.repeat_penalty, params.presence_penalty, params.frequency_penalty)
        return penalties != (1.0, 0.0, 0.0)

    def choose(self, model: "Model", position: int, output: int = -1) -> int:
        """The token for `position`, from one of the model's output rows. Raises NumericError."""
        best = model.candidates(self.sampler.candidates, self.penalties, output)
        return take_rows([self], [best], [position])[0]

    def note(self, token: int) -> None:
        """It was chosen."""
        self._window.append(token)

    @property
    def penalties(self) -> Penalties | None:
        """What the logits are to lose before the next choice; None: nothing."""
        params = self._params
        penalties = Penalties(
            counts=Counter(self._window),
            repeat=params.repeat_penalty,
            presence=params.presence_penalty,
            frequency=params.frequency_penalty,
        )
        return None if penalties.changes_nothing else penalties


def take_rows(
    choosers: Sequence[Chooser], best: "Sequence[Candidates]", positions: Sequence[int]
) -> list[int]:
    """The token of each for its position, from the candidates that it asks for, or more.

    Those that ask for as many are drawn in one go.
    """
    indices = [0] * len(choosers)
    alike: dict[int, list[int]] = {}
    for row, chooser in enumerate(choosers):
        if chooser.sampler.temperature > 0.0:
            count = chooser.sampler.candidates or best[row].ids.size
            alike.setdefault(min(count, best[row].ids.size), []).append(row)
    for count, rows in alike.items():
        logits = np.stack([best[row].logits[:count] for row in rows])  # (n, k)
        samplers = [choosers[row].sampler for row in rows]
        chosen = choose_rows(samplers, logits, [positions[row] for row in rows])
        for row, index in zip(rows, chosen, strict=True):
            indices[row] = index
    tokens = [int(found.ids[index]) for found, index in zip(best, indices, strict=True)]
    for chooser, token in zip(choosers, tokens, strict=True):
        chooser.note(token)
    return tokens
