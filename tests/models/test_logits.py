"""Every architecture on the reference executor, against llama.cpp on the same float32 weights."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.architectures import all_cases
from support.divergence import divergence
from support.llama_cpp import distributions
from support.loading import finish
from support.logits import logits_of
from support.random_model import VOCABULARY

from llm.generate.model import load_model

TOKENS = np.random.default_rng(3).integers(260, VOCABULARY, 41).tolist()
PIECES = (19, 7, *[1] * 15)  # chunks of a prompt, then tokens
# Keys and values are float16 here and float32 there: some 2e-7. With float32 on both sides it is
# 1e-12, or 1e-7 where llama.cpp looks gelu up in a table of float16.
BOUND = 1e-6
TIE = 2e-3  # nats; such a difference in favour of another token may be rounding


@pytest.mark.parametrize("write", all_cases())
def test_every_position(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    path = write(tmp_path / "tiny.gguf")
    model = finish(load_model(str(path), executor="reference", max_outputs=19, chunk_rows=19))
    logits = logits_of(model, TOKENS, PIECES)
    ids, log_probabilities = distributions(path, TOKENS)
    assert divergence(ids, log_probabilities, logits).mean < BOUND
    ours = log_probabilities[ids == logits.argmax(axis=1)[:, None]]  # of our likeliest tokens
    assert (log_probabilities[:, 0] - ours).max() < TIE
