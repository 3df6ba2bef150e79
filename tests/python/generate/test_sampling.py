"""What a request asks of the model for each token, and that a seed fixes its draws."""

import math

import pytest
from support.fake_model import VOCABULARY, FakeModel, FakeTokenizer

from llm.errors import NumericError, RequestError
from llm.generate.request import SamplingParams
from llm.generate.sampling import Chooser
from llm.text.answer_format import AnswerFormat
from llm.text.grammar import GrammarCompiler


def sampled(params: SamplingParams, count: int = 40) -> list[int]:
    model, ids = FakeModel(), [1, 2, 3]
    model.forward(ids, 0, [2])
    chooser = Chooser(params, FakeTokenizer(), seen=ids)
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
    one, other = Chooser(params, FakeTokenizer()), Chooser(params, FakeTokenizer())
    order = [*range(10, 40)]
    found = {place: one.choose(model, place) for place in order}
    assert {place: other.choose(model, place) for place in reversed(order)} == found
    assert len(set(found.values())) > 10


def test_without_penalties_nothing_looks_back() -> None:
    assert not Chooser(SamplingParams(), FakeTokenizer(), seen=[1, 2]).looks_back


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
    Chooser(SamplingParams(**params), FakeTokenizer()).choose(model, 1)
    assert model.asked_for == [(k, None)]


def test_penalties_count_the_latest_window() -> None:
    model = FakeModel(script=[9] * 9)
    model.forward([1], 0, [0])
    params = SamplingParams(temperature=0.0, repeat_penalty=1.5, penalty_window=3)
    chooser = Chooser(params, FakeTokenizer(), seen=[4, 5, 5, 6])
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
    chooser = Chooser(SamplingParams(temperature=0.0, **{name: value}), FakeTokenizer(), seen=[1])
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
    assert Chooser(params, FakeTokenizer(), seen=first).choose(model, 3) != first[0]


def test_nan_is_an_error() -> None:
    model = FakeModel(nan_at=0)
    model.forward([1], 0, [0])
    with pytest.raises(NumericError):
        Chooser(SamplingParams(), FakeTokenizer()).choose(model, 1)


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


def test_a_bias_moves_single_tokens() -> None:
    first = sampled(SamplingParams(temperature=0.0), count=1)[0]
    banned = SamplingParams(temperature=0.0, logit_bias=((first, -math.inf),))
    assert sampled(banned, count=1) != [first]
    wanted = SamplingParams(temperature=0.0, logit_bias=(("z", 100.0),))
    assert sampled(wanted, count=3) == [ord("z")] * 3


@pytest.mark.parametrize(
    ("bias", "words"),
    [
        (((VOCABULARY, 1.0),), "logit_bias names token 258; the model has 0 to 257"),
        (((-1, 1.0),), "logit_bias names token -1"),
        (tuple((id, 1.0) for id in range(257)), "logit_bias names 257 tokens; at most 256 fit"),
    ],
)
def test_a_bias_that_names_no_token(bias: tuple[tuple[int, float], ...], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        Chooser(SamplingParams(logit_bias=bias), FakeTokenizer())


@pytest.mark.parametrize("bias", [math.nan, math.inf])
def test_a_bias_that_is_no_number(bias: float) -> None:
    with pytest.raises(RequestError, match="logit_bias of 'a'"):
        SamplingParams(logit_bias=(("a", bias),))


def test_where_none_may_come_it_is_an_error() -> None:
    model = FakeModel()
    model.forward([1], 0, [0])
    none = tuple((id, -math.inf) for id in range(256))
    chooser = Chooser(SamplingParams(logit_bias=none, temperature=0.0), FakeTokenizer())
    assert chooser.choose(model, 1) >= 256, "the two others may"
    matcher = GrammarCompiler(FakeTokenizer()).matcher(AnswerFormat.choices(("a",)))
    chooser = Chooser(SamplingParams(logit_bias=none), FakeTokenizer(), [], matcher)
    model.forward([1], 1, [0])
    with pytest.raises(RequestError, match="no token may come next"):
        chooser.choose(model, 2)


@pytest.mark.parametrize(
    "extra",
    [
        {"typical_p": 0.5},
        {"top_n_sigma": 0.02},
        {"xtc_probability": 0.5},
        {"dynamic_temperature_range": 0.5},
        {"mirostat": True},
    ],
)
def test_each_way_of_drawing_changes_what_is_drawn(extra: dict[str, float]) -> None:
    plain = {"temperature": 1.2, "seed": 9}
    found = sampled(SamplingParams(**plain, **extra))
    assert found == sampled(SamplingParams(**plain, **extra)), "a seed fixes it"
    assert found != sampled(SamplingParams(**plain))


def test_dry_comes_on_top_of_a_bias() -> None:
    params = SamplingParams(dry_multiplier=2.0, dry_base=3.0, logit_bias=((ord("c"), 1.0),))
    chooser = Chooser(params, FakeTokenizer(), seen=b"abc-ab")
    found = chooser.adjustments()
    assert found is not None
    assert found.biases == {ord("c"): 1.0 - 2.0}
    chooser.note(ord("c"))
    found = chooser.adjustments()
    assert found is not None
    assert found.biases == {ord("c"): 1.0, ord("-"): -6.0}


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_likeliest_are_told(temperature: float) -> None:
    model = FakeModel()
    model.forward([1, 2], 0, [1])
    params = SamplingParams(temperature=temperature, top_k=3, seed=4)
    chooser = Chooser(params, FakeTokenizer(), n_probs=5)
    drawn = chooser.choose(model, 2)
    [told] = chooser.likely
    chosen, *likeliest = told
    assert chosen.token == drawn
    assert len(likeliest) == 5
    assert chosen in likeliest
    scores = model.candidates(0).logits.astype(float)
    total = sum(math.exp(score) for score in scores)
    assert [each.probability for each in likeliest] == pytest.approx(
        [math.exp(score) / total for score in scores[:5]]
    )
    assert [each.text for each in likeliest] == [chr(each.token) for each in likeliest]
