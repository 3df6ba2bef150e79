"""Draws the next token from the largest logits, by float32 sums that a kernel repeats bit by bit.

Filters run in llama.cpp's order: top-k, top-p, min-p, temperature. Only additions, products and
comparisons of float32 are used, in a fixed order, so that shaders/include/step_sample.glslh draws
the same token from the same logits.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from llm.gpu.adjustments import Adjustments
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
        return choose_rows([self], logits[None, : self.top_k or None], [position])[0]


GREEDY = Sampler(0.0)


@dataclass(frozen=True, slots=True)
class Draw:
    """A token to be drawn for `position`, by a sampler that fits a device."""

    sampler: Sampler
    position: int
    adjustments: Adjustments | None = None  # of the logits before

    def words(self) -> NDArray[np.uint32]:
        """What a kernel draws with, (7,)."""
        return np.append(self.sampler.words(), np.uint32(self.position))


def choose_rows(samplers: Sequence[Sampler], logits: Floats, positions: Sequence[int]) -> list[int]:
    """As `Sampler.choose`, for rows of logits (n, k) at once: none greedy, k the top_k of each."""

    def column(values: Iterable[float | np.float32]) -> Floats:
        return np.array(list(values), np.float32)[:, None]  # (n, 1)

    plain = weights(logits, sharpness(1.0))  # (n, k)
    kept = np.minimum(
        count_top_p(plain, column(sampler.top_p for sampler in samplers)),
        count_min_p(plain, column(sampler.min_p for sampler in samplers)),
    )  # (n,)
    sharpnesses = column(sharpness(sampler.temperature) for sampler in samplers)
    most = int(kept.max())  # the sums beyond a row's own are of no use
    sums = running_sums(weights(logits[:, :most], sharpnesses))  # (n, most)
    drawn = column(map(uniform, (sampler.seed for sampler in samplers), positions))
    goals = drawn * np.take_along_axis(sums, kept[:, None] - 1, 1)  # (n, 1)
    # one of those kept is larger: a uniform below 1 rounds to less than the last of them
    return [int(index) for index in np.argmax(sums > goals, axis=1)]


def cuts(sampler: Sampler, logits: Floats) -> list[tuple[str, int]]:
    """What the cutoffs that are on leave of logits (k,), best first: their names, and how many."""
    found: list[tuple[str, int]] = []
    if sampler.top_k > 0:
        logits = logits[: sampler.top_k]
        found.append(("top_k", logits.size))
    plain = weights(logits[None], sharpness(1.0))  # (1, k)
    left = logits.size
    if sampler.top_p < 1.0:
        left = min(left, int(count_top_p(plain, np.full((1, 1), sampler.top_p, np.float32))[0]))
        found.append(("top_p", left))
    if sampler.min_p > 0.0:
        left = min(left, int(count_min_p(plain, np.full((1, 1), sampler.min_p, np.float32))[0]))
        found.append(("min_p", left))
    return found


def sample_scratch(groups: int) -> int:
    """Floats of work for the maxima and the list of step_sample.glslh, with up to so many groups.

    An entry takes two words. Fewer than 32 groups leave at most 512 maxima each, others at most 16.
    """
    return 2 * (max(31 * 512, 16 * groups) + LISTED)


def sharpness(temperature: float) -> np.float32:
    """log2(e) / temperature, as far as float32 goes: what `weights` multiplies by."""
    exact = math.log2(math.e) / temperature
    return np.float32(min(max(exact, float(FLOAT32.tiny)), float(FLOAT32.max)))


def weights(logits: Floats, scale: np.float32 | Floats) -> Floats:
    """exp2((logit - largest) * scale), (n, k): 1 for the first of a row, and never less than
    2 ** -125.

    By Taylor's series to the 7th order around a whole number; the relative error is below 3e-7, and
    what the product's own rounding adds.
    """
    with np.errstate(over="ignore"):  # the difference of two huge logits
        powers = np.maximum((logits - logits[:, :1]) * scale, SMALLEST_POWER)  # (n, k)
    whole = np.floor(powers + np.float32(0.5))
    part = powers - whole
    total = np.full_like(part, SERIES[7])
    for coefficient in reversed(SERIES[:7]):
        total = total * part + coefficient
    return np.asarray(np.ldexp(total, whole.astype(np.int32)), np.float32)


def running_sums(values: Floats) -> Floats:
    """Sums of the first 1, 2, 3 … values of a row, by doubling (Hillis and Steele 1986), (n, k).

    Those of the first values do not depend on how many follow.
    """
    sums = values
    step = 1
    while step < sums.shape[1]:
        sums = np.concatenate((sums[:, :step], sums[:, step:] + sums[:, :-step]), axis=1)
        step *= 2
    return sums


def count_top_p(plain: Floats, p: Floats) -> NDArray[np.int64]:
    """The fewest of the largest weights (n, k) that have the share p (n, 1) of a row; 1 is off."""
    sums = running_sums(plain)
    counts = np.argmax(sums >= p * sums[:, -1:], axis=1) + 1
    return np.asarray(np.where(p[:, 0] >= 1.0, plain.shape[1], counts))


def count_min_p(plain: Floats, p: Floats) -> NDArray[np.int64]:
    """How many of the largest weights (n, k), the first of which is 1, come up to p (n, 1).

    0 is off.
    """
    falls_short = plain < p
    counts = np.argmax(falls_short, axis=1)
    return np.asarray(np.where(falls_short.any(axis=1), counts, plain.shape[1]))
