"""A profile counts the work of a run, times all of it, and leaves the executor usable."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.loading import finish
from support.tiny_gemma import LAYERS, VOCABULARY, write_tiny_gemma

from llm.generate.model import Model, load_model
from llm.gpu.device.rendering_device import open_device
from llm.gpu.fused import persistent
from llm.gpu.profile import RunProfile

PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 20).tolist()


@pytest.fixture(params=["reference", "dispatch", "persistent"])
def model(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Model]:
    device = open_device()
    assert device is not None
    if device.is_cpu:
        monkeypatch.setattr(persistent, "resident_groups", lambda _meet: 1)
    path = write_tiny_gemma(tmp_path / "tiny.gguf")
    model = finish(load_model(str(path), executor=request.param, context_length=64))
    yield model
    model.close()


def count(profile: RunProfile, beginning: str) -> int:
    return sum(work.count for work in profile.times if work.what.lower().startswith(beginning))


def test_a_token(model: Model) -> None:
    model.forward(PROMPT, 0, [])
    profile = model.profile(PROMPT[:1], len(PROMPT))
    assert all(work.microseconds > 0 for work in profile.times)
    together = [work.count * work.microseconds for work in profile.times]
    assert together == sorted(together, reverse=True)
    assert count(profile, "att") in (LAYERS, 2 * LAYERS)  # in one piece, or parts and their joining
    if model.executor == "persistent":
        assert profile.dependent_steps == 5 * LAYERS + 1
        assert sum(work.count for work in profile.times) == profile.dependent_steps


def test_a_prompt(model: Model) -> None:
    profile = model.profile(PROMPT, 0)
    products = count(profile, "mat")
    assert products == 7 * LAYERS + 1
    assert profile.dependent_steps > 5 * LAYERS


def test_afterwards_all_is_as_before(model: Model) -> None:
    model.forward(PROMPT, 0, [len(PROMPT) - 1])
    before = model.logits().copy()
    model.profile(PROMPT[:1], len(PROMPT))
    model.profile(PROMPT, 0)
    model.forward(PROMPT, 0, [len(PROMPT) - 1])
    assert np.array_equal(model.logits(), before)
