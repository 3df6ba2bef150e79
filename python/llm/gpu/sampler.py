"""Draws the next token from the largest logits, by float32 sums that a kernel repeats bit by bit.

Filters run in llama.cpp's order: top-k, top-p, min-p, temperature. Only additions, products and
comparisons of float32 are used, in a fixed order, so that shaders/include/step_sample.glslh draws
the same token from the same logits.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from llm.gpu.philox import WORD, uniform

Floats = NDArray[np.float32]

MOST_ON_DEVICE = 64  # candidates that a kernel draws from
LISTED = 512  # logits that it finds them among
SMALLEST_POWER = np.float32(-125.0)  # the power of two of a hopeless token: above denormals
SERIES = [np.float32(math.log(2.0) ** n / math.factorial(n)) for n in range(8)]
FLOAT32 = np.finfo(np.float32)


@dataclass(frozen=True, slots=True)
class Sampler:
    """How tokens are drawn. Temperature 0 takes the likeliest, whatever the others say."""

    temperature: float
    top_k: int = 0  # 0 is off
    top_p: float = 1.0  # 1 is off
    min_p: float = 0.0  # 0 is off
    seed: int = 0  # 64 bits

    @property
    def candidates(self) -> int:
        """How many of the largest logits `choose` needs; 0: all."""
        return 1 if self.temperature == 0.0 else self.top_k

    @property
    def fits_device(self) -> bool:
        return 1 <= self.candidates <= MOST_ON_DEVICE

    def words(self) -> NDArray[np.uint32]:
        """What a kernel draws with, (6,): the state's words from SHARPNESS on. Zeros are greedy."""
        if self.temperature == 0.0:
            return np.zeros(6, np.uint32)
        floats = [sharpness(self.temperature), self.top_p, self.min_p]
        scale, top_p, min_p = np.array(floats, np.float32).view(np.uint32)
        seed = self.seed & WORD, self.seed >> 32
        return np.array([scale, self.top_k, top_p, min_p, *seed], np.uint32)

    def choose(self, logits: Floats, position: int) -> int:
        """Index of the token for `position` among logits (k,), largest first, ties by lower id."""
        if self.temperature == 0.0:
            return 0
        logits = logits[: self.top_k or None]
        plain = weights(logits, sharpness(1.0))  # (k,)
        kept = min(count_top_p(plain, self.top_p), count_min_p(plain, self.min_p))
        sums = running_sums(weights(logits[:kept], sharpness(self.temperature)))  # (kept,)
        goal = np.float32(uniform(self.seed, position)) * sums[-1]
        return int(np.argmax(sums > goal))  # the last is: a uniform below 1 rounds to less than it


GREEDY = Sampler(0.0)


def sample_scratch(groups: int) -> int:
    """Floats of work for the maxima and the list of step_sample.glslh, with up to so many groups.

    An entry takes two words. Fewer than 32 groups leave at most 512 maxima each, others at most 16.
    """
    return 2 * (max(31 * 512, 16 * groups) + LISTED)


def sharpness(temperature: float) -> np.float32:
    """log2(e) / temperature, as far as float32 goes: what `weights` multiplies by."""
    exact = math.log2(math.e) / temperature
    return np.float32(min(max(exact, float(FLOAT32.tiny)), float(FLOAT32.max)))


def weights(logits: Floats, scale: np.float32) -> Floats:
    """exp2((logit - largest) * scale), (k,): 1 for the first, and never less than 2 ** -125.

    By Taylor's series to the 7th order around a whole number; the relative error is below 3e-7, and
    what the product's own rounding adds.
    """
    with np.errstate(over="ignore"):  # the difference of two huge logits
        powers = np.maximum((logits - logits[0]) * scale, SMALLEST_POWER)  # (k,)
    whole = np.floor(powers + np.float32(0.5))
    part = powers - whole
    total = np.full_like(part, SERIES[7])
    for coefficient in reversed(SERIES[:7]):
        total = total * part + coefficient
    return np.asarray(np.ldexp(total, whole.astype(np.int32)), np.float32)


def running_sums(values: Floats) -> Floats:
    """Sums of the first 1, 2, 3 … values, by doubling (Hillis and Steele 1986), (k,)."""
    sums = values
    step = 1
    while step < sums.size:
        sums = np.concatenate((sums[:step], sums[step:] + sums[:-step]))
        step *= 2
    return sums


def count_top_p(plain: Floats, p: float) -> int:
    """The fewest of the largest weights (k,) that have the share p of all. 1 is off."""
    share = np.float32(p)
    if share >= 1.0:
        return plain.size
    sums = running_sums(plain)
    return int(np.argmax(sums >= share * sums[-1])) + 1


def count_min_p(plain: Floats, p: float) -> int:
    """How many of the largest weights (k,), the first of which is 1, come up to p. 0 is off."""
    falls_short = plain < np.float32(p)
    return int(np.argmax(falls_short)) if falls_short.any() else plain.size
