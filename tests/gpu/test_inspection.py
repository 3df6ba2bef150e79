"""What heads look at on a device is what the reference has, and what parts take is told of each."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from support.architectures import gpt_oss, lfm2, qwen35
from support.loading import finish
from support.random_model import VOCABULARY
from support.tiny_gemma import write_tiny_gemma
from support.tiny_llama import write_tiny_llama

from llm.generate.model import Model, load_model
from llm.generate.sequence import CachedSequence
from llm.gpu.device.rendering_device import open_device
from llm.gpu.fused import executor as fused
from llm.gpu.fused import persistent

CONTEXT = 96
PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 77).tolist()
TOLERANCE = 2e-2  # of a share: roundings of the layers before move scores
CASES: dict[str, Callable[[Path], Path]] = {
    "llama": write_tiny_llama,
    "gemma3": write_tiny_gemma,
    "gpt-oss": next(iter(gpt_oss.CASES.values())),
    "lfm2": lfm2.write_tiny_lfm2,
    "qwen35": qwen35.write_tiny_qwen35,
}
WITHOUT_STEPS = ("lfm2", "qwen35")  # they are recurrent
RUNS = [
    (case, name)
    for case in CASES
    for name in ("dispatch", "steps", "persistent")
    if name != "persistent" or case not in WITHOUT_STEPS
]


@pytest.fixture(scope="module", params=RUNS, ids="-".join)
def run(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A case, and the executor that runs it."""
    case, name = request.param
    return case, name


@pytest.fixture(scope="module")
def path(run: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return CASES[run[0]](tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.fixture
def model(run: tuple[str, str], path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """Software drivers run steps on few groups, or on one that is resident."""
    _, name = run
    device = open_device()
    assert device is not None
    if device.is_cpu and name != "dispatch":
        monkeypatch.setattr(device, "is_cpu", False)
        monkeypatch.setattr(fused, "STEP_GROUPS", 5)
        monkeypatch.setattr(persistent, "resident_groups", lambda _meet: 1)
    made = load(path, "dispatch" if name == "steps" else name)
    yield made
    made.close()


def load(path: Path, executor: str) -> Model:
    steps = load_model(str(path), executor=executor, context_length=CONTEXT, chunk_rows=32)
    return finish(steps)


def read(sequence: CachedSequence) -> None:
    """A prompt, then two tokens, each in a run of its own."""
    done = sequence.keep_common(PROMPT)
    while done < len(PROMPT):
        end = sequence.chunk_end(len(PROMPT), sequence.model.chunk_size)
        sequence.forward(PROMPT[done:end], want_logits=True)
        done = sequence.keep_common([*PROMPT[:end], 0])
    for token in (5, 6):
        sequence.forward([token], want_logits=True)


def attentive(sequence: CachedSequence) -> list[int]:
    return [
        part.layer for part in sequence.profile_parts() if part.heads and part.layer is not None
    ]


def test_attention_is_that_of_the_reference(model: Model, path: Path) -> None:
    reference = load(path, "reference")
    expected, found = reference.sequences.open(), model.sequences.open()
    read(expected)
    read(found)
    layers = attentive(expected)
    assert layers == attentive(found)
    for layer in (layers[0], layers[-1]):
        for position in (0, 40, len(PROMPT) + 1):
            shares = found.attention(position, layer)
            assert shares.shape == (shares.shape[0], position + 1)
            off = np.abs(shares - expected.attention(position, layer)).max()
            assert off < TOLERANCE, (layer, position)


def test_asking_changes_nothing(model: Model) -> None:
    sequence = model.sequences.open()
    read(sequence)
    sequence.forward([9], want_logits=True)
    expected = model.logits().copy()
    sequence.clear()
    read(sequence)
    sequence.profile_parts()
    sequence.attention(60, attentive(sequence)[-1])
    sequence.forward([9], want_logits=True)
    assert np.array_equal(model.logits(), expected)


def test_parts_take_time_and_memory(model: Model) -> None:
    sequence = model.sequences.open()
    read(sequence)
    parts = sequence.profile_parts()
    layers = [part for part in parts if part.layer is not None]
    assert [part.name for part in (parts[0], parts[-1])] == ["embedding", "head"]
    assert all(part.seconds > 0 for part in (*layers, parts[-1]))
    assert all(part.weight_bytes > 0 for part in layers)
    assert all(part.cell_bytes > 0 for part in layers if part.heads)
