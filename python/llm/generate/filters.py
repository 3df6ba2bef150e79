"""Ways to draw that a kernel does not do: filters in llama.cpp's order, and Mirostat.

All of them take logits best first. Nothing here looks back at the text.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from llm.generate.request import SamplingParams
from llm.gpu.philox import uniform

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]

TEMPERATURE, GREEDY = "temperature", "greedy"
XTC_STREAM = 1  # of random numbers; stream 0 is that of the draws


@dataclass(frozen=True, slots=True)
class Cut:
    """What one of the samplers leaves."""

    name: str
    left: Indices  # of the logits, the best first
    temperature: float = 1.0  # that they are divided by


def cuts(logits: Numbers, params: SamplingParams, seed: int, position: int) -> Iterator[Cut]:
    """By every filter that is on, and then the temperature."""
    left = np.arange(logits.size)
    for name, keep in _filters(params, seed, position):
        left = left[keep(logits[left])]
        yield Cut(name, left)
    temperature = dynamic_temperature(logits[left], params)
    if temperature > 0.0:
        yield Cut(TEMPERATURE, left, temperature)
    else:
        yield Cut(GREEDY, left[:1])


def draw(logits: Numbers, params: SamplingParams, seed: int, position: int) -> int:
    """Index of the token for `position` among logits (k,), by every filter that is on."""
    *_, last = cuts(logits, params, seed, position)
    likely = softmax(logits[last.left] / last.temperature)
    return int(last.left[pick(likely, uniform(seed, position))])


def mirostat_cuts(logits: Numbers, params: SamplingParams, surprise: float) -> list[Cut]:
    """Tokens of no more than so many bits of surprise, but one at least.

    Source: Basu et al. 2020, Mirostat; its second version, as in llama.cpp.
    """
    likely = softmax(logits / params.temperature)
    count = max(1, int(np.count_nonzero(-np.log2(np.maximum(likely, 1e-300)) <= surprise)))
    left = np.arange(logits.size)
    return [
        Cut(TEMPERATURE, left, params.temperature),
        Cut("mirostat", left[:count], params.temperature),
    ]


def draw_mirostat(
    logits: Numbers, params: SamplingParams, surprise: float, seed: int, position: int
) -> tuple[int, float]:
    """The index of the token, and the limit of surprise, in bits, for the next."""
    *_, last = mirostat_cuts(logits, params, surprise)
    kept = softmax(logits[last.left] / last.temperature)
    index = pick(kept, uniform(seed, position))
    observed = -math.log2(kept[index])
    return index, surprise - params.mirostat_eta * (observed - params.mirostat_tau)


def _filters(
    params: SamplingParams, seed: int, position: int
) -> list[tuple[str, Callable[[Numbers], Indices]]]:
    found: list[tuple[str, Callable[[Numbers], Indices]]] = []
    if params.top_n_sigma > 0.0:
        found.append(("top_n_sigma", lambda logits: top_n_sigma(logits, params.top_n_sigma)))
    if params.top_k > 0:
        found.append(("top_k", lambda logits: np.arange(min(params.top_k, logits.size))))
    if params.typical_p < 1.0:
        found.append(("typical_p", lambda logits: typical(logits, params.typical_p)))
    if params.top_p < 1.0:
        found.append(("top_p", lambda logits: top_p(logits, params.top_p)))
    if params.min_p > 0.0:
        found.append(("min_p", lambda logits: min_p(logits, params.min_p)))
    if params.xtc_probability > uniform(seed, position, XTC_STREAM):
        found.append(("xtc", lambda logits: without_top_choices(logits, params.xtc_threshold)))
    return found


def softmax(logits: Numbers) -> Numbers:
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())


def entropy(likely: Numbers) -> float:
    """In nats."""
    return float(-(likely * np.log(np.maximum(likely, 1e-300))).sum())


def pick(likely: Numbers, drawn: float) -> int:
    """The index of the one that a uniform number in [0, 1) falls on."""
    sums = np.cumsum(likely)
    return min(int(np.searchsorted(sums, drawn * sums[-1], side="right")), likely.size - 1)


def top_n_sigma(logits: Numbers, n: float) -> Indices:
    """Those within n standard deviations, of all logits, of the largest. Tang et al. 2024."""
    return np.flatnonzero(logits >= logits[0] - n * logits.std())


def top_p(logits: Numbers, p: float) -> Indices:
    """The fewest that together have the probability p. Holtzman et al. 2019."""
    sums = np.cumsum(softmax(logits))
    return np.arange(min(int(np.searchsorted(sums, p)) + 1, logits.size))


def min_p(logits: Numbers, p: float) -> Indices:
    """Those at least p times as likely as the likeliest. Nguyen et al. 2024."""
    return np.flatnonzero(logits >= logits[0] + math.log(p))


def typical(logits: Numbers, p: float) -> Indices:
    """Those whose surprise is nearest to the entropy, until they have the probability p together.

    Source: Meister et al. 2022, locally typical sampling.
    """
    likely = softmax(logits)
    surprise = -np.log(np.maximum(likely, 1e-300))
    order = np.argsort(np.abs(surprise - entropy(likely)), kind="stable")
    count = int(np.searchsorted(np.cumsum(likely[order]), p, side="right")) + 1
    return np.sort(order[:count])


def without_top_choices(logits: Numbers, threshold: float) -> Indices:
    """All but those above the threshold, of which the least likely stays: "exclude top choices"."""
    above = int(np.count_nonzero(softmax(logits) >= threshold))
    return np.arange(max(above - 1, 0), logits.size)


def dynamic_temperature(logits: Numbers, params: SamplingParams) -> float:
    """Nearer to temperature + range the less certain the model is, and to - range the more.

    Source: llama.cpp's temp_ext sampler (entropy over the largest it could be, to a power).
    """
    if params.dynamic_temperature_range == 0.0 or logits.size == 1:
        return params.temperature
    low = max(0.0, params.temperature - params.dynamic_temperature_range)
    high = params.temperature + params.dynamic_temperature_range
    share = entropy(softmax(logits)) / math.log(logits.size)
    return float(low + (high - low) * share**params.dynamic_temperature_exponent)
