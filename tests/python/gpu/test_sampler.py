"""Filters, weights and draws on logits that are sorted from the largest down."""

import math
from collections import Counter

import numpy as np
import pytest

from llm.gpu.philox import uniform
from llm.gpu.sampler import (
    GREEDY,
    SMALLEST_POWER,
    Floats,
    Sampler,
    choose_rows,
    count_min_p,
    count_top_p,
    running_sums,
    sharpness,
    weights,
)

CHANCES = np.array([0.5, 0.25, 0.125, 0.125], np.float32)
LOGITS = np.log(CHANCES)
PLAIN = CHANCES * np.float32(2.0)  # as `weights` gives them
ALL = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}


def chosen(sampler: Sampler, logits: Floats, draws: int = 200) -> set[int]:
    return {sampler.choose(logits, position) for position in range(draws)}


@pytest.mark.parametrize(
    ("p", "kept"),
    [
        pytest.param(0.0, 1, id="zero keeps the likeliest"),
        pytest.param(0.4, 1, id="the likeliest alone has it"),
        pytest.param(0.5, 1, id="exactly"),
        pytest.param(0.7, 2, id="as many as are needed"),
        pytest.param(0.8, 3, id="one more than falls short"),
        pytest.param(1.0, 4, id="one means off"),
    ],
)
def test_top_p(p: float, kept: int) -> None:
    assert count_top_p(PLAIN[None], np.float32([[p]])).tolist() == [kept]


@pytest.mark.parametrize(
    ("p", "kept"),
    [
        pytest.param(0.0, 4, id="zero means off"),
        pytest.param(0.2, 4, id="a quarter is more than a fifth"),
        pytest.param(0.25, 4, id="exactly"),
        pytest.param(0.4, 2, id="a half is more than two fifths"),
        pytest.param(0.9, 1, id="only the likeliest"),
        pytest.param(1.0, 1, id="one keeps the likeliest"),
    ],
)
def test_min_p(p: float, kept: int) -> None:
    assert count_min_p(PLAIN[None], np.float32([[p]])).tolist() == [kept]


@pytest.mark.parametrize(
    ("k", "found"), [(1, {0}), (2, {0, 1}), (0, {0, 1, 2, 3}), (9, {0, 1, 2, 3})]
)
def test_top_k(k: int, found: set[int]) -> None:
    assert chosen(Sampler(1.0, k), LOGITS) == found


def test_the_chain_runs_in_order() -> None:
    # top-k first leaves 2/3 and 1/3; of those top-p 0.6 keeps one. Top-p first would keep two.
    assert chosen(Sampler(5.0, top_k=2, top_p=0.6), LOGITS) == {0}
    # Temperature comes last: before min-p or top-p, 1000 would have made all alike.
    assert chosen(Sampler(1000.0, min_p=0.9), LOGITS) == {0}
    assert chosen(Sampler(1000.0, top_p=0.5), LOGITS) == {0}


def test_weights_are_exponentials() -> None:
    falling = np.linspace(0.0, -80.0, 100_001).astype(np.float32)
    for temperature in (1.0, 0.3, 7.0):
        logits = falling * np.float32(temperature)
        exact = np.exp((logits.astype(np.float64)) / temperature)
        found = weights(logits[None], sharpness(temperature))[0]
        error = np.abs(found / exact - 1.0)
        assert error.max() < 1e-5  # a product's rounding, times 80
        assert error[:1000].max() < 2e-7
        assert (np.diff(found) <= 0.0).all()


def test_temperature_sharpens_and_flattens() -> None:
    # p ** (1 / t), in proportion to the first
    assert weights(LOGITS[None], sharpness(1.0))[0] == pytest.approx([1, 0.5, 0.25, 0.25], rel=1e-6)
    assert weights(LOGITS[None, :2], sharpness(0.5))[0] == pytest.approx([1, 0.25], rel=1e-6)
    assert weights(LOGITS[None, :2], sharpness(1e9))[0] == pytest.approx([1, 1], rel=1e-6)


@pytest.mark.parametrize("temperature", [1e-300, 1e-45, 1e-3, 1.0, 1e300])
def test_huge_logits_do_not_overflow(temperature: float) -> None:
    huge = np.array([[3e38, 3e38, 0.0, -3e38]], np.float32)
    found = weights(huge, sharpness(temperature))[0]
    least = 2.0 ** float(SMALLEST_POWER)
    assert found[:2].tolist() == [1.0, 1.0]
    assert (found >= least).all()
    assert (found[2] == least) == (temperature <= 1.0)
    assert found[3] == least


@pytest.mark.parametrize("size", [1, 2, 3, 40, 63, 64, 65, 1009])
def test_running_sums(size: int) -> None:
    values = np.random.default_rng(size).random(size).astype(np.float32)
    exact = np.cumsum(values, dtype=np.float64)
    assert np.allclose(running_sums(values[None])[0], exact, rtol=1e-6, atol=0.0)


def test_the_first_whose_sum_passes_is_drawn() -> None:
    sampler = Sampler(1.0, seed=21)
    borders = np.cumsum(CHANCES)
    for position in range(300):
        index = int(np.searchsorted(borders, uniform(21, position), side="right"))
        assert sampler.choose(LOGITS, position) == index


@pytest.mark.parametrize("k", [1, 40, 63])
def test_rows_are_drawn_as_each_alone(k: int) -> None:
    """Whatever the others keep."""
    source = np.random.default_rng(k)
    samplers = [
        Sampler(temperature, k, top_p, min_p, seed)
        for seed, (temperature, top_p, min_p) in enumerate(
            [
                (0.8, 0.95, 0.05),
                (1.5, 1.0, 0.0),
                (0.1, 0.5, 0.0),
                (30.0, 0.9, 0.9),
                (1e9, 0.99, 0.0),
            ]
        )
    ]
    for position in range(50):
        logits = -np.sort(-source.normal(0.0, 4.0, (len(samplers), k)).astype(np.float32))
        positions = range(position, position + len(samplers))
        rows = zip(samplers, logits, positions, strict=True)
        expected = [sampler.choose(row, place) for sampler, row, place in rows]
        assert choose_rows(samplers, logits, positions) == expected


def test_any_number_below_one_draws_somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    largest = (2**24 - 1) / 2**24
    monkeypatch.setattr("llm.gpu.sampler.uniform", lambda seed, position: largest)
    source = np.random.default_rng(3)
    for size in range(1, 300):
        logits = -np.sort(source.random(size).astype(np.float32))
        assert Sampler(1.0).choose(logits, 0) >= size - 2
    monkeypatch.setattr("llm.gpu.sampler.uniform", lambda seed, position: 0.0)
    assert chosen(Sampler(1.0), LOGITS) == {0}


def test_draws_follow_the_probabilities() -> None:
    n_draws = 8000
    for temperature in (1.0, 0.5):
        sampler = Sampler(temperature, **ALL, seed=11)
        counts = Counter(sampler.choose(LOGITS, position) for position in range(n_draws))
        chances = CHANCES ** (1.0 / temperature)
        for index, chance in enumerate(chances / chances.sum()):
            # 4 standard deviations of a binomial at p = 1/2, the widest
            assert abs(counts[index] - n_draws * chance) < 4 * math.sqrt(n_draws * 0.25)


def test_greedy_takes_the_first() -> None:
    for sampler in (GREEDY, Sampler(0.0, 40, 0.95, 0.05, 7)):
        assert chosen(sampler, LOGITS) == {0}
        assert sampler.candidates == 1
        assert sampler.fits_device


def test_words() -> None:
    words = Sampler(0.5, 40, 0.95, 0.05, 3 << 32 | 7).words()
    floats = words[[0, 2, 3]].view(np.float32)
    assert floats.tolist() == [
        np.float32(2.0 * math.log2(math.e)),
        np.float32(0.95),
        np.float32(0.05),
    ]
    assert words[[1, 4, 5]].tolist() == [40, 7, 3]
    assert not Sampler(0.0, 40, 0.95, 0.05, 7).words().any()


@pytest.mark.parametrize(("k", "fits"), [(0, False), (1, True), (64, True), (65, False)])
def test_what_a_device_can_draw_from(k: int, fits: bool) -> None:
    sampler = Sampler(0.8, k)
    assert (sampler.candidates, sampler.fits_device) == (k, fits)
