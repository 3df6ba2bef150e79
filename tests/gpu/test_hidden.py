"""Hidden rows of every executor are those of the reference, and make the same vectors of texts."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.loading import finish
from support.random_model import VOCABULARY
from support.tiny_models import TINY_MODELS, TOLERANCE, error

from llm.generate.model import Model, load_model
from llm.gpu.device.rendering_device import open_device
from llm.gpu.fused import persistent

CONTEXT = 96
ROWS = 64
PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 91).tolist()
WRITERS = [
    TINY_MODELS[name] for name in ("gemma, gate and up in formats of their own", "llama, Q4_K_M")
]


@pytest.fixture(scope="module", params=WRITERS, ids=["gemma", "llama"])
def path(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    return request.param(tmp_path_factory.mktemp("models") / "tiny.gguf")


def load(path: Path, name: str) -> Model:
    steps = load_model(
        str(path), executor=name, context_length=CONTEXT, chunk_rows=ROWS, is_patient=True
    )
    return finish(steps)


@pytest.fixture(
    scope="module",
    params=[("dispatch", True), ("dispatch", False), ("persistent", False)],
    ids=["operations for software", "operations and steps", "persistent"],
)
def model(path: Path, request: pytest.FixtureRequest) -> Iterator[Model]:
    name, is_cpu = request.param
    device = open_device()
    with pytest.MonkeyPatch.context() as patch:
        if device.is_cpu:  # which promises one group at a time
            patch.setattr(persistent, "resident_groups", lambda _meet: 1)
        patch.setattr(device, "is_cpu", is_cpu)
        made = load(path, name)
    assert made.executor == name
    yield made
    made.close()


def hidden_of(model: Model, pieces: list[int]) -> np.ndarray:
    found, start = [], 0
    for count in pieces:
        model.forward(PROMPT[start : start + count], start, [])
        found.append(model.hidden().copy())
        assert len(found[-1]) == count
        start += count
    return np.concatenate(found)


@pytest.mark.parametrize(
    "pieces", [[64, 27], [1, 7, 31, 1, 51]], ids=["whole chunks", "chunks of any size"]
)
def test_hidden_rows(path: Path, model: Model, pieces: list[int]) -> None:
    expected = hidden_of(load(path, "reference"), pieces)
    assert error(hidden_of(model, pieces), expected) < TOLERANCE


def test_the_same_rows_again_to_the_last_bit(model: Model) -> None:
    """Though answers run between them, and single tokens by other kernels."""
    first = hidden_of(model, [64, 27])
    model.forward(PROMPT[:5], 0, [4])
    model.candidates(1)
    model.forward(PROMPT[5:6], 5, [0])
    model.candidates(40)
    assert (hidden_of(model, [64, 27]) == first).all()


def test_a_run_with_outputs_keeps_no_hidden_rows(path: Path, model: Model) -> None:
    for each in (model, load(path, "reference")):
        each.forward(PROMPT[:3], 0, [])
        for count in (1, 3):
            each.forward(PROMPT[:count], 0, [count - 1])
            with pytest.raises(ValueError, match="kept logits"):
                each.hidden()
        each.forward(PROMPT[:3], 0, [])
        assert each.hidden().shape[0] == 3
