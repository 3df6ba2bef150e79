"""Each filter by its definition, and the order in which they run."""

import math

import numpy as np
import pytest

from llm.generate import filters
from llm.generate.request import SamplingParams

LIKELY = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
LOGITS = np.log(LIKELY) + 7.0


def params(**fields: float) -> SamplingParams:
    plain = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
    return SamplingParams(**{**plain, **fields})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(filters.top_p(LOGITS, 0.69), [0, 1], id="top-p: just enough"),
        pytest.param(filters.top_p(LOGITS, 0.71), [0, 1, 2], id="top-p: one more"),
        pytest.param(filters.top_p(LOGITS, 0.0), [0], id="top-p: never none"),
        pytest.param(filters.min_p(LOGITS, 0.3), [0, 1, 2], id="min-p"),
        pytest.param(filters.without_top_choices(LOGITS, 0.12), [2, 3, 4], id="xtc"),
        pytest.param(filters.without_top_choices(LOGITS, 0.35), [0, 1, 2, 3, 4], id="xtc: one"),
        pytest.param(filters.without_top_choices(LOGITS, 0.9), [0, 1, 2, 3, 4], id="xtc: none"),
        pytest.param(filters.top_n_sigma(LOGITS, 1.0), [0, 1], id="top-n-sigma"),
        pytest.param(filters.top_n_sigma(LOGITS, 100.0), [0, 1, 2, 3, 4], id="wide"),
    ],
)
def test_what_is_kept(found: np.ndarray, expected: list[int]) -> None:
    assert found.tolist() == expected


def test_typical_keeps_those_of_expected_surprise() -> None:
    entropy = -(LIKELY * np.log(LIKELY)).sum()
    nearness = np.abs(-np.log(LIKELY) - entropy)
    order = np.argsort(nearness)
    for p in (0.05, 0.31, 0.6, 0.99):
        kept = filters.typical(LOGITS, p).tolist()
        count = 1 + int(np.count_nonzero(np.cumsum(LIKELY[order]) <= p))
        assert kept == sorted(order[:count].tolist())
    assert 0 not in filters.typical(LOGITS, 0.1), "the likeliest is not the typical one here"


def test_dynamic_temperature_follows_certainty() -> None:
    def temperature(logits: np.ndarray) -> float:
        return filters.dynamic_temperature(logits, params(dynamic_temperature_range=0.6))

    assert temperature(np.zeros(9)) == pytest.approx(1.6)
    assert temperature(np.array([50.0, 0.0, 0.0])) == pytest.approx(0.4, abs=1e-6)
    assert 0.4 < temperature(LOGITS) < 1.6
    assert temperature(LOGITS[:1]) == 1.0
    assert filters.dynamic_temperature(LOGITS, params()) == 1.0


def test_draws_have_the_probabilities() -> None:
    counts = np.zeros(5)
    for position in range(4000):
        counts[filters.draw(LOGITS, params(top_n_sigma=9.0), 11, position)] += 1
    assert np.abs(counts / 4000 - LIKELY).max() < 0.03


def test_filters_work_on_what_the_earlier_ones_left() -> None:
    # top-k leaves two; of those the first alone has more than half
    both = params(top_k=2, top_p=0.55, typical_p=0.999999)
    assert {filters.draw(LOGITS, both, 1, place) for place in range(50)} == {0}
    # xtc runs after min-p, which leaves three: the least likely of those above 0.2 stays
    cut = params(min_p=0.3, xtc_probability=1.0, xtc_threshold=0.2)
    assert {filters.draw(LOGITS, cut, 1, place) for place in range(200)} == {1, 2}


def test_xtc_comes_as_often_as_asked() -> None:
    often = params(xtc_probability=0.3, xtc_threshold=0.2, top_k=2)
    drawn = [filters.draw(np.array([9.0, 8.9, 0.0]), often, 5, place) for place in range(3000)]
    without_first = (0.3 + 0.7 * (1 / (1 + math.exp(0.1)))) * 3000
    assert abs(drawn.count(1) - without_first) < 120


def test_mirostat_holds_its_surprise() -> None:
    source = np.random.default_rng(3)
    wanted = params(mirostat=True, mirostat_tau=3.0, mirostat_eta=0.1)
    surprise, seen = 6.0, []
    for position in range(1500):
        logits = np.sort(source.normal(0.0, 2.5, 500))[::-1]
        index, surprise = filters.draw_mirostat(logits, wanted, surprise, 7, position)
        seen.append(-math.log2(filters.softmax(logits)[index]))
    assert np.mean(seen[200:]) == pytest.approx(3.0, abs=0.6)


def test_mirostat_takes_the_first_where_all_surprise() -> None:
    index, surprise = filters.draw_mirostat(LOGITS, params(mirostat=True), 0.01, 1, 1)
    assert index == 0
    assert surprise > 0.01, "too dull: more is let through next"


def test_a_seed_fixes_the_draw() -> None:
    def drawn(seed: int) -> list[int]:
        hot = params(xtc_probability=0.5, xtc_threshold=0.1, typical_p=0.9)
        return [filters.draw(LOGITS, hot, seed, place) for place in range(40)]

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)
