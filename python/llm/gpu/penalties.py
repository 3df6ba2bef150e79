"""What the sampler wants subtracted from logits before the largest are taken."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Penalties:
    """For a token seen `count` times: its logit is divided by `repeat` where positive and
    multiplied by it where not, then loses `count * frequency + presence`.

    Source: llama.cpp's penalties sampler (repeat after Keskar et al. 2019, CTRL; the other two
    after OpenAI's API). `repeat` 1, `frequency` 0 and `presence` 0 change nothing.
    """

    counts: Mapping[int, int]  # token id -> times seen in the window
    repeat: float = 1.0
    presence: float = 0.0
    frequency: float = 0.0

    @property
    def changes_nothing(self) -> bool:
        unused = self.repeat == 1.0 and self.presence == 0.0 and self.frequency == 0.0
        return unused or not self.counts

    def apply(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """A copy of the logits (V,) with the penalties taken off."""
        result = logits.copy()
        if self.changes_nothing:
            return result
        ids = np.fromiter(self.counts.keys(), np.int64)
        counts = np.fromiter(self.counts.values(), np.float32)
        repeat = np.float32(self.repeat)
        seen = np.where(result[ids] <= 0, result[ids] * repeat, result[ids] / repeat)
        fixed = np.float32(self.presence)
        result[ids] = seen - counts * np.float32(self.frequency) - fixed
        return result
