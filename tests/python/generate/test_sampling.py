"""What a request asks of the model for each token, and that a seed fixes its draws."""

import math

import pytest
from support.fake_model import FakeModel

from llm.errors import NumericError, RequestError
from llm.generate.request import SamplingParams
from llm.generate.sampling import Chooser


def sampled(params: SamplingParams, count: int = 40) -> list[int]:
    model, ids = FakeModel(), [1, 2, 3]
    model.forward(ids, 0, [2])
    chooser = Chooser(params, seen=ids)
    out = []
    for position in range(3, 3 + count):
        out.append(chooser.choose(model, position))
        model.forward([out[-1]], position, [0])
    return out


def test_a_seed_fixes_the_tokens() -> None:
    hot = {"temperature": 2.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
    assert sampled(SamplingParams(seed=5, **hot)) == sampled(SamplingParams(seed=5, **hot))
    assert sampled(SamplingParams(seed=5, **hot)) != sampled(SamplingParams(seed=6, **hot))
    assert sampled(SamplingParams(seed=0, **hot)) == sampled(SamplingParams(seed=0, **hot))
    assert sampled(SamplingParams(seed=-1, **hot)) != sampled(SamplingParams(seed=-1, **hot))


def test_a_draw_depends_on_the_position_alone() -> None:
    params = SamplingParams(temperature=2.0, top_k=0, top_p=1.0, min_p=0.0, seed=5)
    model = FakeModel()
    model.forward([1, 2, 3], 0, [2])
    one, other = Chooser(params), Chooser(params)
    order = [*range(10, 40)]
    found = {place: one.choose(model, place) for place in order}
    assert {place: other.choose(model, place) for place in reversed(order)} == found
    assert len(set(found.values())) > 10


def test_without_penalties_nothing_looks_back() -> None:
    assert not Chooser(SamplingParams(), seen=[1, 2]).looks_back


@pytest.mark.parametrize(
    ("params", "k"),
    [
        pytest.param({"temperature": 0.0, "top_k": 40}, 1, id="greedy needs one"),
        pytest.param({"top_k": 1}, 1, id="k of one"),
        pytest.param({"top_k": 40}, 40, id="k"),
        pytest.param({"top_k": 257}, 257, id="a large k"),
        pytest.param({"top_k": 0}, 0, id="without top-k all are needed"),
    ],
)
def test_candidates_asked_for(params: dict[str, float], k: int) -> None:
    model = FakeModel()
    model.forward([1], 0, [0])
    Chooser(SamplingParams(**params)).choose(model, 1)
    assert model.asked_for == [(k, None)]


def test_penalties_count_the_latest_window() -> None:
    model = FakeModel(script=[9] * 9)
    model.forward([1], 0, [0])
    params = SamplingParams(temperature=0.0, repeat_penalty=1.5, penalty_window=3)
    chooser = Chooser(params, seen=[4, 5, 5, 6])
    chooser.choose(model, 1)
    chooser.choose(model, 2)
    counts = [penalties.counts for _, penalties in model.asked_for]
    assert counts == [{5: 2, 6: 1}, {5: 1, 6: 1, 9: 1}]


@pytest.mark.parametrize(
    ("name", "value"),
    [("repeat_penalty", 1.5), ("presence_penalty", 0.5), ("frequency_penalty", 0.5)],
)
def test_each_penalty_reaches_the_model(name: str, value: float) -> None:
    model = FakeModel()
    model.forward([1], 0, [0])
    chooser = Chooser(SamplingParams(temperature=0.0, **{name: value}), seen=[1])
    assert chooser.looks_back
    chooser.choose(model, 1)
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
    assert Chooser(params, seen=first).choose(model, 3) != first[0]


def test_nan_is_an_error() -> None:
    model = FakeModel(nan_at=0)
    model.forward([1], 0, [0])
    with pytest.raises(NumericError):
        Chooser(SamplingParams()).choose(model, 1)


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
