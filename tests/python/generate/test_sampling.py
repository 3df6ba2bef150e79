import math
from collections import Counter

import numpy as np
import pytest
from support.fake_model import FakeModel

from llm.errors import NumericError, RequestError
from llm.generate.request import SamplingParams
from llm.generate.sampling import Sampler, choose, draw, min_p, probabilities, top_k, top_p

LOGITS = np.log(np.array([0.5, 0.25, 0.125, 0.125], np.float32))


@pytest.mark.parametrize(
    ("k", "kept"),
    [
        pytest.param(2, 2, id="keeps the two largest"),
        pytest.param(0, 4, id="zero means off"),
        pytest.param(9, 4, id="k beyond the candidates is off"),
    ],
)
def test_top_k(k: int, kept: int) -> None:
    assert np.array_equal(top_k(LOGITS, k), LOGITS[:kept])


@pytest.mark.parametrize(
    ("p", "kept"),
    [
        pytest.param(0.0, 1, id="zero keeps the likeliest"),
        pytest.param(0.4, 1, id="the likeliest alone has it"),
        pytest.param(0.7, 2, id="as many as are needed"),
        pytest.param(0.8, 3, id="one more than falls short"),
        pytest.param(1.0, 4, id="one means off"),
    ],
)
def test_top_p(p: float, kept: int) -> None:
    assert np.array_equal(top_p(LOGITS, p), LOGITS[:kept])


@pytest.mark.parametrize(
    ("p", "kept"),
    [
        pytest.param(0.0, 4, id="zero means off"),
        pytest.param(0.2, 4, id="a quarter is more than a fifth"),
        pytest.param(0.4, 2, id="a half is more than two fifths"),
        pytest.param(0.9, 1, id="only the likeliest"),
        pytest.param(1.0, 1, id="one keeps the likeliest"),
    ],
)
def test_min_p(p: float, kept: int) -> None:
    assert np.array_equal(min_p(LOGITS, p), LOGITS[:kept])


def test_temperature_sharpens_and_flattens() -> None:
    # p ** (1 / t), normalised
    assert probabilities(LOGITS) == pytest.approx([0.5, 0.25, 0.125, 0.125], rel=1e-6)
    assert probabilities(LOGITS[:2], 0.5) == pytest.approx([0.8, 0.2], rel=1e-6)
    assert probabilities(LOGITS[:2], 1e9) == pytest.approx([0.5, 0.5], rel=1e-6)


def test_huge_logits_do_not_overflow() -> None:
    assert probabilities(np.array([3e38, 0.0, -3e38], np.float32)).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("uniform", "index"),
    [
        pytest.param(0.0, 0, id="the first"),
        pytest.param(0.4999, 0, id="just below a border"),
        pytest.param(0.5, 1, id="on the border belongs to the next"),
        pytest.param(np.nextafter(1.0, 0.0), 2, id="the last, whatever rounding did"),
    ],
)
def test_draw(uniform: float, index: int) -> None:
    assert draw(np.array([0.5, 0.3, 0.2 - 1e-9]), float(uniform)) == index


def test_the_chain_runs_in_order() -> None:
    # top-k first leaves 2/3 and 1/3; of those top-p 0.6 keeps one. Top-p first would keep two.
    params = SamplingParams(temperature=5.0, top_k=2, top_p=0.6, min_p=0.0)
    random = np.random.default_rng(7)
    assert {choose(LOGITS, params, random) for _ in range(200)} == {0}
    # Temperature comes last: before min-p, 1000 would have made all alike.
    params = SamplingParams(temperature=1000.0, top_k=0, top_p=1.0, min_p=0.9)
    assert {choose(LOGITS, params, random) for _ in range(200)} == {0}


def test_draws_follow_the_probabilities() -> None:
    params = SamplingParams(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)
    random = np.random.default_rng(11)
    counts = Counter(choose(LOGITS, params, random) for _ in range(8000))
    # 4 standard deviations of a binomial at p = 1/2, the widest
    bound = 4 * math.sqrt(8000 * 0.25)
    for index, chance in enumerate([0.5, 0.25, 0.125, 0.125]):
        assert abs(counts[index] - 8000 * chance) < bound


def sampled(params: SamplingParams, count: int = 40) -> list[int]:
    model, ids = FakeModel(), [1, 2, 3]
    model.forward(ids, 0, [2])
    sampler = Sampler(params, seen=ids)
    out = []
    for position in range(3, 3 + count):
        out.append(sampler.sample(model))
        model.forward([out[-1]], position, [0])
    return out


def test_a_seed_fixes_the_tokens() -> None:
    hot = {"temperature": 2.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
    assert sampled(SamplingParams(seed=5, **hot)) == sampled(SamplingParams(seed=5, **hot))
    assert sampled(SamplingParams(seed=5, **hot)) != sampled(SamplingParams(seed=6, **hot))
    assert sampled(SamplingParams(seed=0, **hot)) == sampled(SamplingParams(seed=0, **hot))
    assert sampled(SamplingParams(seed=-1, **hot)) != sampled(SamplingParams(seed=-1, **hot))


@pytest.mark.parametrize(
    ("params", "k"),
    [
        pytest.param({"temperature": 0.0, "top_k": 40}, 1, id="greedy needs one"),
        pytest.param({"top_k": 1}, 1, id="k of one"),
        pytest.param({"top_k": 40}, 40, id="k"),
        pytest.param({"top_k": 256}, 256, id="the most that is picked on the device"),
        pytest.param({"top_k": 257}, 0, id="more than that needs all"),
        pytest.param({"top_k": 0}, 0, id="without top-k all are needed"),
    ],
)
def test_candidates_asked_for(params: dict[str, float], k: int) -> None:
    model = FakeModel()
    model.forward([1], 0, [0])
    Sampler(SamplingParams(**params)).sample(model)
    assert model.asked_for == [(k, None)]


def test_penalties_count_the_latest_window() -> None:
    model = FakeModel(script=[9] * 9)
    model.forward([1], 0, [0])
    params = SamplingParams(temperature=0.0, repeat_penalty=1.5, penalty_window=3)
    sampler = Sampler(params, seen=[4, 5, 5, 6])
    sampler.sample(model)
    sampler.sample(model)
    counts = [penalties.counts for _, penalties in model.asked_for]
    assert counts == [{5: 2, 6: 1}, {5: 1, 6: 1, 9: 1}]


@pytest.mark.parametrize(
    ("name", "value"),
    [("repeat_penalty", 1.5), ("presence_penalty", 0.5), ("frequency_penalty", 0.5)],
)
def test_each_penalty_reaches_the_model(name: str, value: float) -> None:
    model = FakeModel()
    model.forward([1], 0, [0])
    Sampler(SamplingParams(temperature=0.0, **{name: value}), seen=[1]).sample(model)
    [(_, penalties)] = model.asked_for
    assert penalties is not None
    field = name.removesuffix("_penalty")
    assert getattr(penalties, field) == value


def test_penalised_greedy_picks_another() -> None:
    # Two forwards of the same KV: without a penalty the choice is the same each time.
    first = sampled(SamplingParams(temperature=0.0), count=1)
    params = SamplingParams(temperature=0.0, presence_penalty=1000.0)
    model = FakeModel()
    model.forward([1, 2, 3], 0, [2])
    assert Sampler(params, seen=first).sample(model) != first[0]


def test_nan_is_an_error() -> None:
    model = FakeModel(nan_at=0)
    model.forward([1], 0, [0])
    with pytest.raises(NumericError):
        Sampler(SamplingParams()).sample(model)


@pytest.mark.parametrize(
    ("name", "value", "range_text"),
    [
        ("temperature", -0.1, "0 or more"),
        ("temperature", math.nan, "0 or more"),
        ("temperature", math.inf, "0 or more"),
        ("top_k", -1, "0 or more"),
        ("top_p", 1.5, "from 0 to 1"),
        ("min_p", -0.5, "from 0 to 1"),
        ("repeat_penalty", 0.0, "0.01 or more"),
        ("presence_penalty", math.nan, "a finite number"),
        ("seed", -2, "from -1 to"),
    ],
)
def test_out_of_range(name: str, value: float, range_text: str) -> None:
    with pytest.raises(RequestError, match=rf"{name} is {value}.* must be {range_text}"):
        SamplingParams(**{name: value})
