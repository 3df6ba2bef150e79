"""Tokens drawn in the kernel are those that the host draws from the same logits, up to a stop."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.loading import finish
from support.tiny_llama import LAYERS, write_tiny_llama

from llm.generate.model import Model, load_model
from llm.gpu import state
from llm.gpu.device.rendering_device import open_device
from llm.gpu.fused import executor as fused
from llm.gpu.fused import persistent
from llm.gpu.fused.persistent import PersistentExecutor
from llm.gpu.kernels.kernel import Kernel
from llm.gpu.kernels.shader_source import expand_kernel
from llm.gpu.sampler import GREEDY, MOST_ON_DEVICE, Sampler
from llm.gpu.steps.packing import STEP_WORDS
from llm.gpu.steps.step_sizes import StepSizes

VOCABULARY = 1103  # more than a draw may list
COUNT = 21
TOKENS_A_SUBMIT = 8  # fewer than outside of tests
POSITION = 40  # of the token that all answers begin after
# After this one the likeliest tokens are many different ones.
PROMPT = np.random.default_rng(44).integers(0, VOCABULARY, POSITION + 1).tolist()
DRAWN = Sampler(1.5, 40, seed=9)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("models") / "tiny.gguf", vocabulary=VOCABULARY)


@pytest.fixture(scope="module", autouse=True)
def a_quick_device() -> Iterator[None]:
    """So that submits take as many tokens as they may, from the first on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(persistent, "TOKENS_A_SUBMIT", TOKENS_A_SUBMIT)
        patch.setattr(persistent, "FIRST_TOKENS", TOKENS_A_SUBMIT)
        patch.setattr(PersistentExecutor, "submit_seconds", 1e6)
        yield


def load(path: Path) -> Model:
    device = open_device()
    assert device is not None
    with pytest.MonkeyPatch.context() as patch:
        if device.is_cpu:
            patch.setattr(persistent, "resident_groups", lambda _meet: 1)
        model = finish(load_model(str(path), executor="persistent", context_length=96))
    assert model.executor == "persistent"
    model.forward(PROMPT[:-1], 0, [])
    return model


@pytest.fixture(scope="module")
def shared_model(path: Path) -> Iterator[Model]:
    model = load(path)
    yield model
    model.close()


@pytest.fixture
def model(shared_model: Model) -> Model:
    """Knows the prompt. Nothing but its cells from POSITION on may be changed."""
    assert shared_model.executor == "persistent"
    return shared_model


@pytest.fixture
def own_model(path: Path) -> Iterator[Model]:
    model = load(path)
    yield model
    model.close()


@pytest.fixture
def submits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tokens each dispatch was to make."""
    counts: list[int] = []
    play = PersistentExecutor._play_tokens

    def count(executor: PersistentExecutor, n_tokens: int, position: int, *, draws: bool) -> None:
        counts.append(n_tokens)
        play(executor, n_tokens, position, draws=draws)

    monkeypatch.setattr(PersistentExecutor, "_play_tokens", count)
    return counts


def one_by_one(model: Model, sampler: Sampler, count: int = COUNT) -> list[int]:
    """Drawn by the host."""
    tokens = PROMPT[-1:]
    for position in range(POSITION, POSITION + count):
        model.forward(tokens[-1:], position, [0])
        best = model.candidates(sampler.candidates)
        tokens.append(int(best.ids[sampler.choose(best.logits, position + 1)]))
    return tokens[1:]


def decode(
    model: Model, sampler: Sampler, stops: Collection[int] = (), count: int = COUNT
) -> list[int]:
    return model.decode(PROMPT[-1], POSITION, count, sampler, stops)


def state_of(model: Model) -> list[int]:
    executor = model._executor
    assert isinstance(executor, PersistentExecutor)
    return executor._read_state().tolist()


def arrivals(model: Model, n_tokens: int, sampler: Sampler) -> int:
    """At the barriers of so many tokens: after each step, or, with tags, before the first token and
    after the embedding and the logits; and between the halves of a draw."""
    executor = model._executor
    assert isinstance(executor, PersistentExecutor)
    has_tags = executor._lists[0].places.count > 0
    of_token = (2 if has_tags else 5 * LAYERS + 1) + (0 if sampler == GREEDY else 1)
    return executor._groups * (has_tags + n_tokens * of_token)


@pytest.mark.parametrize("seed", [0, 2**64 - 1])
@pytest.mark.parametrize("top_k", [1, 5, 40, MOST_ON_DEVICE])
@pytest.mark.parametrize(
    ("temperature", "top_p", "min_p"),
    [(0.7, 1.0, 0.0), (1.5, 0.8, 0.0), (1.5, 1.0, 0.3), (0.7, 0.95, 0.05)],
)
def test_samplers(
    model: Model,
    submits: list[int],
    temperature: float,
    top_p: float,
    min_p: float,
    top_k: int,
    seed: int,
) -> None:
    sampler = Sampler(temperature, top_k, top_p, min_p, seed)
    found = decode(model, sampler)
    assert submits == [TOKENS_A_SUBMIT, TOKENS_A_SUBMIT, COUNT - 2 * TOKENS_A_SUBMIT]
    assert found == one_by_one(model, sampler)


def test_samplers_draw_different_tokens(model: Model) -> None:
    """Or the test above shows little."""
    samplers = [Sampler(t, k, seed=seed) for t in (0.7, 1.5) for k in (5, 64) for seed in (0, 1)]
    assert len({tuple(decode(model, sampler)) for sampler in samplers}) == len(samplers)
    assert decode(model, Sampler(1.5, 1)) == decode(model, GREEDY)


@pytest.mark.parametrize("sampler", [GREEDY, DRAWN], ids=["greedy", "drawn"])
def test_steps_for_many_cells(
    own_model: Model, monkeypatch: pytest.MonkeyPatch, sampler: Sampler
) -> None:
    """As many tokens a submit as one by one, also after a submit with the other steps."""
    executor = own_model._executor
    assert isinstance(executor, PersistentExecutor)
    near, far = executor._lists[:2], executor._lists[2:]
    for lists in zip(near, far, strict=True):
        size = lists[0].count * STEP_WORDS * 4
        assert len({executor._device.read(steps.buffer, 0, size) for steps in lists}) == 2
    with monkeypatch.context() as patch:
        patch.setattr(executor, "_far_from", POSITION)
        patch.setattr(executor, "_lists", [None, None, *far])
        assert decode(own_model, sampler) == one_by_one(own_model, sampler)
    monkeypatch.setattr(executor, "_far_from", POSITION + TOKENS_A_SUBMIT)
    assert decode(own_model, sampler) == one_by_one(own_model, sampler)


@pytest.mark.parametrize("count", [1, TOKENS_A_SUBMIT, TOKENS_A_SUBMIT + 1])
def test_the_cells_of_drawn_tokens(model: Model, count: int) -> None:
    found = decode(model, DRAWN, count=count)
    model.forward(found[-1:], POSITION + count, [0])
    after = model.logits().copy()
    assert one_by_one(model, DRAWN, count) == found
    model.forward(found[-1:], POSITION + count, [0])
    assert (model.logits() == after).all()


@pytest.mark.parametrize("sampler", [GREEDY, DRAWN], ids=["greedy", "drawn"])
@pytest.mark.parametrize("stop", [0, 3, 7, 8, 20])
def test_nothing_is_done_after_a_stop(
    model: Model, submits: list[int], sampler: Sampler, stop: int
) -> None:
    expected = one_by_one(model, sampler)
    stop = expected.index(expected[stop])
    submits.clear()
    # the other stops lie around the one that comes
    stops = [token for token in range(VOCABULARY) if token not in expected][:60]
    stops.insert(31, expected[stop])
    assert decode(model, sampler, stops) == expected[: stop + 1]
    assert len(submits) == stop // TOKENS_A_SUBMIT + 1
    of_last = stop % TOKENS_A_SUBMIT + 1
    words = state_of(model)
    assert words[state.DECODED] == of_last
    assert words[state.ARRIVALS] == arrivals(model, of_last, sampler)
    assert words[state.PICK_IDS + of_last - 1] == expected[stop]


@pytest.mark.parametrize("sampler", [GREEDY, DRAWN], ids=["greedy", "drawn"])
@pytest.mark.parametrize("stop", [0, 3, 9])
@pytest.mark.parametrize("place", [state.MAX_STOPS - 1, state.MAX_STOPS, 69])
def test_more_stops_than_the_device_takes(
    model: Model, sampler: Sampler, stop: int, place: int
) -> None:
    """The host sees those that the device does not."""
    expected = one_by_one(model, sampler)
    stop = expected.index(expected[stop])
    stops = [token for token in range(VOCABULARY) if token not in expected][:69]
    stops.insert(place, expected[stop])
    assert decode(model, sampler, stops) == expected[: stop + 1]
    is_seen = place < state.MAX_STOPS
    on_device = stop % TOKENS_A_SUBMIT + 1 if is_seen else TOKENS_A_SUBMIT
    assert state_of(model)[state.DECODED] == on_device


@pytest.mark.parametrize("sampler", [GREEDY, DRAWN], ids=["greedy", "drawn"])
def test_stops_of_one_answer_do_not_end_the_next(model: Model, sampler: Sampler) -> None:
    expected = one_by_one(model, sampler)
    assert decode(model, sampler, expected) == expected[:1]
    assert decode(model, sampler) == expected


@pytest.mark.parametrize("top_k", [0, MOST_ON_DEVICE + 1, 300])
def test_what_the_device_does_not_draw(model: Model, submits: list[int], top_k: int) -> None:
    sampler = Sampler(1.5, top_k, 0.9, seed=3)
    expected = one_by_one(model, sampler)
    submits.clear()
    assert decode(model, sampler) == expected
    assert submits == [1] * COUNT
    stop = expected.index(expected[9])
    assert decode(model, sampler, {expected[stop]}) == expected[: stop + 1]


@pytest.fixture(scope="module")
def failing_model(path: Path) -> Iterator[Model]:
    """Bit n of the upper word of the seed lets draw n fail."""

    kernel_of = StepSizes.kernel

    def kernel(sizes: StepSizes, *arguments: Any, **options: Any) -> Kernel:
        made = kernel_of(sizes, *arguments, **options)
        assert made is not None
        return replace(made, defines={**made.defines, "FAILING": 1})  # and so has another name

    def expand(kernel: Kernel) -> str:
        glsl = expand_kernel(kernel)
        fails = f"(state[STATE_SEED + 1u] >> position - {POSITION + 1}u & 1u) != 0u"
        assert glsl.count("return n_listed > SAMPLE_LISTED ?") == 1
        return glsl.replace("return n_listed", f"return {fails} || n_listed")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StepSizes, "kernel", kernel)
        patch.setattr(fused, "expand_kernel", expand)
        model = load(path)
    yield model
    model.close()


@pytest.mark.parametrize(
    ("fails", "expected_submits"),
    [
        pytest.param(0, [8, 8, 5], id="none"),
        pytest.param(1 << 0, [8, 8, 8, 4], id="the first"),
        pytest.param(1 << 7, [8, 8, 5], id="the last of a submit"),
        pytest.param(1 << 20, [8, 8, 5], id="the last"),
        pytest.param(0b10001000001, [8, 8, 8, 8, 2], id="some"),
        pytest.param((1 << COUNT) - 1, [8] * 14 + [7, 6, 5, 4, 3, 2, 1], id="all"),
    ],
)
def test_draws_that_fail_are_made_by_the_host(
    model: Model, failing_model: Model, submits: list[int], fails: int, expected_submits: list[int]
) -> None:
    sampler = Sampler(1.5, 40, seed=fails << 32 | 5)
    expected = one_by_one(model, sampler)
    submits.clear()
    assert decode(failing_model, sampler) == expected
    assert submits == expected_submits
    for place in (0, 7, 20):
        end = expected.index(expected[place]) + 1
        assert decode(failing_model, sampler, {expected[place]}) == expected[:end]


@pytest.mark.parametrize("sampler", [GREEDY, DRAWN], ids=["greedy", "drawn"])
@pytest.mark.parametrize("count", [16, 17])
def test_falling_back_in_mid_answer_loses_no_token(
    own_model: Model,
    monkeypatch: pytest.MonkeyPatch,
    submits: list[int],
    sampler: Sampler,
    count: int,
) -> None:
    """Submits of eight are tables already; in those of other sizes nobody waits for the others."""
    expected = one_by_one(own_model, sampler, count)
    decode(own_model, sampler, count=TOKENS_A_SUBMIT)
    executor = own_model._executor
    assert isinstance(executor, PersistentExecutor)
    executor._tables = {k: table for k, table in executor._tables.items() if k[:2] != ("tokens", 1)}
    monkeypatch.setattr(persistent, "SPINS", 0)
    submits.clear()
    assert decode(own_model, sampler, count=count) == expected
    assert submits == [8, 8, 1][: -(-count // 8)]
    assert own_model.executor == ("persistent" if count == 16 else "dispatch")
    end = expected.index(expected[3]) + 1
    assert decode(own_model, sampler, {expected[3]}, count) == expected[:end]


@pytest.mark.parametrize("sampler", [GREEDY, DRAWN], ids=["greedy", "drawn"])
def test_falling_back_at_the_first_token(
    own_model: Model, monkeypatch: pytest.MonkeyPatch, sampler: Sampler
) -> None:
    expected = one_by_one(own_model, sampler)
    monkeypatch.setattr(persistent, "SPINS", 0)
    assert decode(own_model, sampler) == expected
    assert own_model.executor == "dispatch"


def test_a_submit_is_short_on_a_slow_device(
    path: Path, submits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first takes one token; the next as many as the first was quick enough for."""
    monkeypatch.setattr(persistent, "FIRST_TOKENS", 1)
    model = load(path)
    decode(model, GREEDY, count=4)
    model.submit_seconds = 1e-9
    decode(model, GREEDY, count=5)
    assert submits == [1, 3, 5 if TOKENS_A_SUBMIT >= 5 else TOKENS_A_SUBMIT]
    decode(model, GREEDY, count=3)
    assert submits[3:] == [1, 1, 1]
    assert model.ahead == 1
    model.close()
