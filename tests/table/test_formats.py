"""The table of docs/models.md on the reference executor, against llama.cpp.

llama.cpp reads the same weights as float32: its own products of quantised files round activations.
"""

from pathlib import Path

import numpy as np
import pytest
from support.divergence import divergence
from support.embedded import embed, lowest_cosine
from support.exact_cells import keep_cells_exact
from support.llama_cpp import distributions, embeddings
from support.loading import finish
from support.logits import logits_of
from support.random_model import VOCABULARY
from support.table_models import DECODERS, ENCODING, cells

from llm.generate.model import load_model

TOKENS = np.random.default_rng(3).integers(260, VOCABULARY, 24).tolist()
PIECES = (13, 7, *[1] * 4)  # chunks of a prompt, then tokens
BOUND = 1e-6  # seen: 6e-7, where llama.cpp looks gelu up in a table of float16
TIE = 5e-3  # nats; such a difference in favour of another token may be rounding (seen: 2.7e-3)
TEXTS = ("a", "Where is the inn?", "Käse, and a text that is longer than any window of nine")


@pytest.mark.parametrize(("name", "column"), cells(DECODERS))
def test_every_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, column: str
) -> None:
    keep_cells_exact(monkeypatch)
    model = DECODERS[name]
    path = model.write_as(column, tmp_path / "tiny.gguf")
    loaded = finish(load_model(str(path), executor="reference", max_outputs=13, chunk_rows=13))
    logits = logits_of(loaded, TOKENS, PIECES)
    copy = model.write_expanded(column, tmp_path / "expanded.gguf")
    ids, log_probabilities = distributions(copy, TOKENS)
    assert divergence(ids, log_probabilities, logits).mean < BOUND
    ours = log_probabilities[ids == logits.argmax(axis=1)[:, None]]  # of our likeliest tokens
    assert (log_probabilities[:, 0] - ours).max() < TIE


@pytest.mark.parametrize(("name", "column"), cells(ENCODING))
def test_vectors(tmp_path: Path, name: str, column: str) -> None:
    path = ENCODING[name].write_as(column, tmp_path / "tiny.gguf")
    copy = ENCODING[name].write_expanded(column, tmp_path / "expanded.gguf")
    found = embed(path, TEXTS, "auto", 96)
    assert lowest_cosine(found, embeddings(copy, TEXTS, "auto")) > 1 - 1e-6
