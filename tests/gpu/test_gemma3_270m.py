"""The default model on the GPU, against llama.cpp on float32 weights."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.default_model import DEFAULT_MODEL
from support.divergence import divergence
from support.loading import finish

from llm.generate.model import Model, load_model
from llm.gpu.device.rendering_device import open_device
from llm.gpu.fused import executor as fused

GOLDEN = Path(__file__).parents[1] / "golden"
ROWS = 50
TOKENS = 40  # read one by one


@pytest.fixture(scope="module")
def gemma() -> Iterator[Model]:
    steps = load_model(
        str(DEFAULT_MODEL),
        executor="dispatch",
        context_length=1024,
        max_outputs=ROWS,
        chunk_rows=ROWS,
    )
    model = finish(steps)
    yield model
    model.close()


def test_greedy_ids(gemma: Model) -> None:
    golden = json.loads((GOLDEN / "greedy.json").read_text())
    ids = gemma.tokenizer.encode(golden["prompt"])
    gemma.forward(ids, 0, [len(ids) - 1])
    found = [int(gemma.candidates(1).ids[0])]
    while len(found) < len(golden["ids"]):
        gemma.forward(found[-1:], len(ids) + len(found) - 1, [0])
        found.append(int(gemma.candidates(1).ids[0]))
    assert found == golden["ids"]


def test_prose(gemma: Model) -> None:
    golden = np.load(GOLDEN / "prose_logits.npz")
    tokens = golden["tokens"].tolist()
    means, same = [], []
    for start in range(0, len(tokens), ROWS):
        rows = slice(start, start + ROWS)
        gemma.forward(tokens[rows], start, range(ROWS))
        part = divergence(golden["ids"][rows], golden["log_probabilities"][rows], gemma.logits())
        means.append(part.mean)
        same.append(part.same_top)
    assert len(tokens) == 400
    assert np.mean(means) < 3e-4
    assert np.mean(same) >= 0.995


def test_prose_by_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a GPU runs single tokens; the 400 of them, which take minutes here, gave 6.2e-6."""
    monkeypatch.setattr(open_device(), "is_cpu", False)
    monkeypatch.setattr(fused, "STEP_GROUPS", 16)
    model = finish(load_model(str(DEFAULT_MODEL), executor="dispatch", context_length=64))
    golden = np.load(GOLDEN / "prose_logits.npz")
    logits = []
    for position, token in enumerate(golden["tokens"][:8].tolist()):
        model.forward([token], position, [0])
        logits.append(model.logits()[0].copy())
    model.close()
    part = divergence(golden["ids"][:8], golden["log_probabilities"][:8], np.array(logits))
    assert part.mean < 3e-5
    assert part.same_top == 1.0


def test_prose_token_by_token() -> None:
    """As decoding reads it; all 400 tokens gave 6.1e-6 here, too."""
    model = finish(load_model(str(DEFAULT_MODEL), executor="dispatch", context_length=64))
    golden = np.load(GOLDEN / "prose_logits.npz")
    logits = []
    for position, token in enumerate(golden["tokens"][:TOKENS].tolist()):
        model.forward([token], position, [0])
        logits.append(model.logits()[0].copy())
    model.close()
    part = divergence(
        golden["ids"][:TOKENS], golden["log_probabilities"][:TOKENS], np.array(logits)
    )
    assert part.mean < 3e-5
    assert part.same_top == 1.0


def test_memory_is_the_tensors_and_the_cache(gemma: Model) -> None:
    tensors = 246_600_000  # bytes of the file's tensors
    cache = 1024 * 18 * 1024  # 18 KiB a token
    logits = (ROWS - 1) * 262_144 * 4  # the rows that only this test keeps
    assert gemma.memory_bytes - logits < 1.15 * (tensors + cache)
