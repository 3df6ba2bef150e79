"""Every architecture in every format on the reference executor, against llama.cpp.

llama.cpp reads the same weights as float32: its own products of quantised files round activations.
"""

from pathlib import Path

import numpy as np
import pytest
from support.divergence import divergence
from support.exact_cells import keep_cells_exact
from support.llama_cpp import distributions
from support.loading import finish
from support.logits import logits_of
from support.random_model import VOCABULARY
from support.table_models import DECODERS

from llm.generate.model import load_model

TOKENS = np.random.default_rng(3).integers(260, VOCABULARY, 24).tolist()
PIECES = (13, 7, *[1] * 4)  # chunks of a prompt, then tokens
BOUND = 1e-4
TIE = 2e-3  # nats; such a difference in favour of another token may be rounding
CELLS = [(name, column) for name, model in DECODERS.items() for column in model.columns]


@pytest.mark.parametrize(("name", "column"), CELLS)
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
    found = divergence(ids, log_probabilities, logits)
    print("KL", name, column, found.mean)
    assert found.mean < BOUND
    ours = log_probabilities[ids == logits.argmax(axis=1)[:, None]]  # of our likeliest tokens
    assert (log_probabilities[:, 0] - ours).max() < TIE
