"""A saved cache is of use on every executor: what one computed, another goes on from."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.loading import finish
from support.random_model import VOCABULARY
from support.tiny_gemma import write_tiny_gemma
from support.tiny_models import error

from llm.generate.cache_files import load_cache, save_cache
from llm.generate.model import Model, load_model
from llm.generate.saved_state import SavedState
from llm.generate.sequence import CachedSequence
from llm.gpu.device.rendering_device import open_device
from llm.gpu.fused import executor as fused
from llm.gpu.fused import persistent

CONTEXT = 200
PROMPT = np.random.default_rng(5).integers(0, VOCABULARY, 131).tolist()
EXECUTORS = ["reference", "dispatch", "steps", "persistent"]
TOLERANCE = 5e-2  # of the largest logit: steps round their inputs, columns to float16


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    metadata = {"gemma3.context_length": CONTEXT}
    return write_tiny_gemma(tmp_path_factory.mktemp("tiny") / "tiny.gguf", metadata=metadata)


def load(path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Model:
    """Software drivers run steps on few groups, or on one that is resident."""
    device = open_device()
    assert device is not None
    with monkeypatch.context() as patch:
        if device.is_cpu and name in ("steps", "persistent"):
            patch.setattr(device, "is_cpu", False)
            patch.setattr(fused, "STEP_GROUPS", 5)
            patch.setattr(persistent, "resident_groups", lambda _meet: 1)
        executor = "dispatch" if name == "steps" else name
        return finish(load_model(str(path), executor=executor, context_length=CONTEXT))


def prefill(sequence: CachedSequence, prompt: list[int]) -> int:
    known = sequence.keep_common(prompt)
    for start in range(known, len(prompt), 32):
        sequence.forward(prompt[start : start + 32], want_logits=True)
    return known


@pytest.fixture(scope="module")
def expected(path: Path) -> Iterator[np.ndarray]:
    reference = finish(load_model(str(path), executor="reference", context_length=CONTEXT))
    prefill(reference.sequences.open(), [*PROMPT, 3, 4])
    yield np.array(reference.logits()[0])
    reference.close()


@pytest.mark.parametrize("target", EXECUTORS)
@pytest.mark.parametrize("source", EXECUTORS)
def test_one_goes_on_where_another_was(
    path: Path,
    tmp_path: Path,
    source: str,
    target: str,
    expected: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = str(tmp_path / "a.state")
    first = load(path, source, monkeypatch)
    sequence = first.sequences.open()
    prefill(sequence, PROMPT)
    for _ in save_cache(sequence, file, SavedState([])):
        pass
    first.close()

    second = load(path, target, monkeypatch)
    prefill(second.sequences.open(), PROMPT[::-1])  # so that its pages are others
    sequence = second.sequences.open()
    for _ in load_cache(sequence, file, CONTEXT):
        pass
    assert prefill(sequence, [*PROMPT, 3, 4]) == len(PROMPT)
    found = error(second.logits()[0], expected)
    second.close()
    assert found < TOLERANCE


@pytest.mark.parametrize("name", EXECUTORS)
def test_a_page_is_what_was_written(path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And its neighbours are not."""
    model = load(path, name, monkeypatch)
    runner = model._executor
    data = np.random.default_rng(1).bytes(model.identity.page_bytes)
    last = runner.pages - 1
    for page in (last, 0):
        before = runner.read_page(1)
        runner.write_page(page, data)
        assert runner.read_page(page) == data
        assert runner.read_page(1) == before
    runner.grow(runner.pages + 3)
    assert runner.read_page(last) == data
    model.close()
