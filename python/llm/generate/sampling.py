"""Chooses the tokens of one request: penalties for those seen lately, then a draw.

The model finds the largest logits, where the logits are; llm.gpu.sampler defines the draw, which a
device can repeat for several tokens at once as long as no penalty looks back at them.
"""

import secrets
from collections import Counter, deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from llm.generate.request import RANDOM_SEED, SamplingParams
from llm.gpu.penalties import Penalties
from llm.gpu.sampler import Sampler

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
        return self.take(best, position)

    def take(self, best: "Candidates", position: int) -> int:
        """The token for `position`, from the candidates that it asks for, or more."""
        count = self.sampler.candidates or best.ids.size
        token = int(best.ids[self.sampler.choose(best.logits[:count], position)])
        self._window.append(token)
        return token

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
