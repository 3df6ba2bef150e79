"""Gemma 3 270M's numbers on the reference executor, against llama.cpp on float32 weights."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.default_model import DEFAULT_MODEL
from support.divergence import divergence
from support.loading import finish

from llm.generate.model import Model, load_model

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture(scope="module")
def gemma() -> Model:
    steps = load_model(str(DEFAULT_MODEL), executor="reference", max_outputs=50, chunk_rows=50)
    return finish(steps)


def test_greedy_ids(gemma: Model) -> None:
    golden = json.loads((GOLDEN / "greedy.json").read_text())
    ids = gemma.tokenizer.encode(golden["prompt"])
    gemma.forward(ids, 0, [len(ids) - 1])
    found = [int(gemma.candidates(1).ids[0])]
    while len(found) < len(golden["ids"]):
        gemma.forward(found[-1:], len(ids) + len(found) - 1, [0])
        found.append(int(gemma.candidates(1).ids[0]))
    assert found == golden["ids"]
    assert gemma.tokenizer.decode(found) == golden["text"]


def test_prose(gemma: Model) -> None:
    golden = np.load(GOLDEN / "prose_logits.npz")
    tokens = golden["tokens"].tolist()
    found = []
    for start in range(0, len(tokens), 50):
        gemma.forward(tokens[start : start + 50], start, range(50))
        found.append(gemma.logits().copy())
    result = divergence(golden["ids"], golden["log_probabilities"], np.concatenate(found))
    assert len(tokens) == 400
    assert result.mean < 1e-4  # seen: 6.2e-6
    assert result.same_top >= 0.995  # seen: 1.0
