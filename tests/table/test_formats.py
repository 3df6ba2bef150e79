"""The table of docs/models.md on the reference executor, against llama.cpp.

llama.cpp reads the same weights as float32: its own products of quantised files round activations.
"""

from pathlib import Path

import pytest
from support.divergence import divergence
from support.embedded import embed, lowest_cosine
from support.exact_cells import keep_cells_exact
from support.llama_cpp import distributions, embeddings
from support.loading import finish
from support.rounded_gelu import round_gelu
from support.router_margins import clear_text
from support.table_models import DECODERS, ENCODING, cells

from llm.generate.model import load_model

PIECES = (13, 7, *[1] * 4)  # chunks of a prompt, then tokens
BOUND = 1e-7  # seen: 2e-8
TIE = 2e-3  # nats; such a difference in favour of another token may be rounding (seen: 3e-4)
TEXTS = ("a", "Where is the inn?", "Käse, and a text that is longer than any window of nine")


@pytest.mark.parametrize(("name", "column"), cells(DECODERS))
def test_every_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, column: str
) -> None:
    keep_cells_exact(monkeypatch)
    round_gelu(monkeypatch)
    model = DECODERS[name]
    path = model.write_as(column, tmp_path / "tiny.gguf")
    loaded = finish(load_model(str(path), executor="reference", max_outputs=13, chunk_rows=13))
    tokens, logits = clear_text(monkeypatch, loaded, PIECES)
    copy = model.write_expanded(column, tmp_path / "expanded.gguf")
    ids, log_probabilities = distributions(copy, tokens)
    assert divergence(ids, log_probabilities, logits).mean < BOUND
    ours = log_probabilities[ids == logits.argmax(axis=1)[:, None]]  # of our likeliest tokens
    assert (log_probabilities[:, 0] - ours).max() < TIE


@pytest.mark.parametrize(("name", "column"), cells(ENCODING))
def test_vectors(tmp_path: Path, name: str, column: str) -> None:
    path = ENCODING[name].write_as(column, tmp_path / "tiny.gguf")
    copy = ENCODING[name].write_expanded(column, tmp_path / "expanded.gguf")
    found = embed(path, TEXTS, "auto", 96)
    assert lowest_cosine(found, embeddings(copy, TEXTS, "auto")) > 1 - 1e-6
