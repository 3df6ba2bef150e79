"""What is done to a row of logits before the largest are taken: penalties, biases, a mask."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Words = NDArray[np.uint32]

# The logit of a token that may not come. Finite, as kernels take infinity for damaged weights.
MASKED = np.float32(-1e30)
FORBIDDEN = np.float32(-5e29)  # at most this: a token that may not come, whatever else it has


@dataclass(frozen=True, slots=True)
class Adjustments:
    """For a token seen `count` times: its logit is divided by `repeat` where positive and
    multiplied by it where not, then loses `count * frequency + presence`. Then its bias is added.

    Source: llama.cpp's penalties sampler (repeat after Keskar et al. 2019, CTRL; the other two
    after OpenAI's API). `repeat` 1, `frequency` 0 and `presence` 0 change nothing.
    """

    counts: Mapping[int, int] = field(default_factory=dict)  # token id -> times seen lately
    repeat: float = 1.0
    presence: float = 0.0
    frequency: float = 0.0
    biases: Mapping[int, float] = field(default_factory=dict)  # token id -> added to its logit
    mask: Words | None = None  # (ceil(V / 32),): a bit a token, the lowest first; set, it may come

    @property
    def changes_tokens(self) -> bool:
        """Whether single tokens have a penalty or a bias."""
        unused = self.repeat == 1.0 and self.presence == 0.0 and self.frequency == 0.0
        return bool(self.biases) or bool(self.counts and not unused)

    @property
    def changes_nothing(self) -> bool:
        return self.mask is None and not self.changes_tokens

    def terms(self) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Of each token that changes: its id, what divides its logit, what that then loses."""
        ids = list(dict.fromkeys((*self.counts, *self.biases)))
        counts = np.array([self.counts.get(id, 0) for id in ids], np.float32)
        biases = np.array([self.biases.get(id, 0.0) for id in ids], np.float32)
        is_seen = counts > 0
        repeats = np.where(is_seen, np.float32(self.repeat), np.float32(1.0))
        penalties = counts * np.float32(self.frequency) + is_seen * np.float32(self.presence)
        return np.array(ids, np.int64), repeats, np.asarray(penalties - biases, np.float32)

    def apply(self, logits: Floats) -> Floats:
        """A copy of the logits (V,) with all of it done."""
        result = logits.copy()
        if self.changes_tokens:
            ids, repeats, losses = self.terms()
            seen = np.where(result[ids] > 0, result[ids] / repeats, result[ids] * repeats)
            result[ids] = seen - losses
        if self.mask is not None:
            bits = np.unpackbits(self.mask.view(np.uint8), bitorder="little")  # (32 * words,)
            result[bits[: result.size] == 0] = MASKED
        return result
