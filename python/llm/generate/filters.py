"""Ways to draw that a kernel does not do: filters in llama.cpp's order, and Mirostat.

All of them take logits best first. Nothing here looks back at the text.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from llm.generate.request import SamplingParams
from llm.gpu.philox import uniform

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]

XTC_STREAM = 1  # of random numbers; stream 0 is that of the draws


def draw(logits: Numbers, params: SamplingParams, seed: int, position: int) -> int:
    """Index of the token for `position` among logits (k,), by every filter that is on."""
    left = np.arange(logits.size)
    for keep in _filters(params, seed, position):
        left = left[keep(logits[left])]
    temperature = dynamic_temperature(logits[left], params)
    if temperature <= 0.0:
        return int(left[0])
    return int(left[pick(softmax(logits[left] / temperature), uniform(seed, position))])


def draw_mirostat(
    logits: Numbers, params: SamplingParams, surprise: float, seed: int, position: int
) -> tuple[int, float]:
    """The index of the token, and the limit of surprise, in bits, for the next.

    Source: Basu et al. 2020, Mirostat; its second version, as in llama.cpp.
    """
    likely = softmax(logits / params.temperature)
    count = max(1, int(np.count_nonzero(-np.log2(np.maximum(likely, 1e-300)) <= surprise)))
    kept = likely[:count] / likely[:count].sum()
    index = pick(kept, uniform(seed, position))
    observed = -math.log2(kept[index])
    return index, surprise - params.mirostat_eta * (observed - params.mirostat_tau)


def _filters(
    params: SamplingParams, seed: int, position: int
) -> list[Callable[[Numbers], Indices]]:
    found: list[Callable[[Numbers], Indices]] = []
    if params.top_n_sigma > 0.0:
        found.append(lambda logits: top_n_sigma(logits, params.top_n_sigma))
    if params.top_k > 0:
        found.append(lambda logits: np.arange(min(params.top_k, logits.size)))
    if params.typical_p < 1.0:
        found.append(lambda logits: typical(logits, params.typical_p))
    if params.top_p < 1.0:
        found.append(lambda logits: top_p(logits, params.top_p))
    if params.min_p > 0.0:
        found.append(lambda logits: min_p(logits, params.min_p))
    if params.xtc_probability > uniform(seed, position, XTC_STREAM):
        found.append(lambda logits: without_top_choices(logits, params.xtc_threshold))
    return found


def softmax(logits: Numbers) -> Numbers:
    weights = np.exp(logits - logits[0])
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
