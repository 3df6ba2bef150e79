"""What is told of a choice is what the draw has, sampler by sampler; the draw is the same."""

from typing import Any

import numpy as np
import pytest
from support.fake_model import VOCABULARY, FakeModel, FakeTokenizer

from llm.generate.request import SamplingParams
from llm.generate.sampling import Chooser
from llm.generate.xray import SHOWN, Choice
from llm.text.answer_format import AnswerFormat
from llm.text.grammar import GrammarCompiler

HOT = {"temperature": 1.5, "top_k": 40, "top_p": 0.9, "min_p": 0.02, "seed": 3}
CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "greedy": ({"temperature": 0.0}, ["greedy"]),
    "plain": (HOT, ["top_k", "top_p", "min_p", "temperature"]),
    "without cutoffs": (
        {"temperature": 1.5, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "seed": 3},
        ["temperature"],
    ),
    "penalties": (
        {**HOT, "repeat_penalty": 1.3, "presence_penalty": 0.5},
        ["penalties", "top_k", "top_p", "min_p", "temperature"],
    ),
    "biases": (
        {**HOT, "logit_bias": ((7, 3.0), (9, -np.inf))},
        ["logit_bias", "top_k", "top_p", "min_p", "temperature"],
    ),
    "more filters": (
        {**HOT, "top_n_sigma": 2.5, "typical_p": 0.9, "xtc_probability": 1.0},
        ["top_n_sigma", "top_k", "typical_p", "top_p", "min_p", "xtc", "temperature"],
    ),
    "mirostat": ({**HOT, "mirostat": True, "mirostat_tau": 3.0}, ["temperature", "mirostat"]),
}


def drawn(params: dict[str, Any], *, is_traced: bool, count: int = 30) -> Chooser:
    """A chooser that has chosen so many tokens, which are noted in `tokens`."""
    model, ids = FakeModel(context_length=64), [1, 2, 3]
    model.forward(ids, 0, [2])
    chooser = Chooser(SamplingParams(**params), FakeTokenizer(), seen=ids, is_traced=is_traced)
    tokens = []
    for position in range(3, 3 + count):
        tokens.append(chooser.choose(model, position))
        model.forward([tokens[-1]], position, [0])
    chooser.tokens = tokens  # type: ignore[attr-defined]
    return chooser


@pytest.mark.parametrize(("params", "names"), CASES.values(), ids=CASES)
def test_the_stages_of_each_choice(params: dict[str, Any], names: list[str]) -> None:
    chooser = drawn(params, is_traced=True)
    assert len(chooser.choices) == 30
    for token, choice in zip(chooser.tokens, chooser.choices, strict=True):  # type: ignore[attr-defined]
        assert [stage.name for stage in choice.stages] == ["model", *names]
        assert (choice.token, choice.candidates[0].token) == (token, token)
        assert choice.stages[0].left == VOCABULARY
        left = [stage.left for stage in choice.stages]
        assert left == sorted(left, reverse=True), "no sampler brings tokens back"
        assert choice.candidates[0].probabilities[-1] > 0, "what was drawn could be drawn"
        for at in range(len(choice.stages)):
            likely = [each.probabilities[at] for each in choice.candidates]
            assert sum(likely) < 1 + 1e-9
            assert all(np.isfinite(likely))


@pytest.mark.parametrize(("params", "names"), CASES.values(), ids=CASES)
def test_the_tokens_are_those_without(params: dict[str, Any], names: list[str]) -> None:
    del names
    plain, traced = drawn(params, is_traced=False), drawn(params, is_traced=True)
    assert plain.tokens == traced.tokens  # type: ignore[attr-defined]
    assert not plain.choices


def first_choice(params: dict[str, Any], scores: np.ndarray, **options: Any) -> Choice:
    model = FakeModel()
    model.forward([1], 0, [0])
    model._scores = [scores.astype(np.float32)]
    chooser = Chooser(SamplingParams(**params), FakeTokenizer(), is_traced=True, **options)
    chooser.choose(model, 1)
    return chooser.choices[0]


def test_the_numbers() -> None:
    """Worked out by hand: four tokens count, of 8, 4, 2 and 1 parts."""
    scores = np.full(VOCABULARY, -100.0)
    scores[[50, 51, 52, 53]] = np.log([8.0, 4.0, 2.0, 1.0])
    params = {"temperature": 0.5, "top_k": 3, "top_p": 1.0, "min_p": 0.2, "seed": 1}
    choice = first_choice({**params, "logit_bias": ((52, np.log(4.0)),)}, scores)
    found = {each.token: each.probabilities for each in choice.candidates}
    names = [stage.name for stage in choice.stages]
    assert names == ["model", "logit_bias", "top_k", "min_p", "temperature"]
    assert np.allclose(found[50], [8 / 15, 8 / 21, 8 / 20, 8 / 20, 64 / 144], atol=1e-6)
    assert np.allclose(found[52], [2 / 15, 8 / 21, 8 / 20, 8 / 20, 64 / 144], atol=1e-6)
    assert np.allclose(found[51], [4 / 15, 4 / 21, 4 / 20, 4 / 20, 16 / 144], atol=1e-6)
    assert np.allclose(found[53], [1 / 15, 1 / 21, 0, 0, 0], atol=1e-6)
    assert [stage.left for stage in choice.stages] == [VOCABULARY, VOCABULARY, 3, 3, 3]
    parts = np.array([8, 4, 2, 1]) / 15
    assert choice.stages[0].entropy == pytest.approx(-(parts * np.log2(parts)).sum(), abs=1e-6)
    assert choice.stages[2].entropy == pytest.approx(1.521928, abs=1e-5)


def test_the_likeliest_before_and_after_are_shown() -> None:
    scores = np.zeros(VOCABULARY)
    scores[:20] = np.arange(20) / 4 + 3  # token 19 is the likeliest
    biases = tuple((token, -50.0) for token in range(14, 20))
    choice = first_choice({"temperature": 0.0, "logit_bias": biases}, scores)
    assert choice.token == 13
    shown = [each.token for each in choice.candidates]
    assert len(shown) == len(set(shown)) == SHOWN
    assert {19, 18, 17, 16, 15, 12, 11, 10, 9, 8} <= set(shown)
    assert choice.candidates[0].text == "\r"


def test_a_format_forbids_and_forces() -> None:
    model = FakeModel()
    model.forward([1], 0, [0])
    format = AnswerFormat.choices(("yes", "yellow"))
    matcher = GrammarCompiler(FakeTokenizer()).matcher(format)  # type: ignore[arg-type]
    params = SamplingParams(temperature=0.0)
    chooser = Chooser(params, FakeTokenizer(), [], matcher, is_traced=True)
    assert chooser.forced(5) == [ord("y"), ord("e")]
    assert chooser.choose(model, 3) in b"sl"
    forced, _, chosen = chooser.choices
    assert [stage.name for stage in forced.stages] == ["format"]
    assert [each.text for each in forced.candidates] == ["y"]
    assert [stage.name for stage in chosen.stages] == ["model", "format", "greedy"]
    assert [stage.left for stage in chosen.stages] == [VOCABULARY, 2, 1]
