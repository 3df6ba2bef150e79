"""Every encoder as dispatches gives the hidden rows that the reference gives, in float32 weights.

Those are held to llama.cpp by tests/python/generate/test_embedding_numbers.py.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.executors import load, load_dispatch, load_persistent
from support.random_model import VOCABULARY
from support.tiny_encoders import ENCODERS

from llm.errors import DeviceError
from llm.generate.model import Model

TEXT = np.random.default_rng(3).integers(0, VOCABULARY, 91).tolist()
# An embedding is a direction, and rounds less than a logit.
COSINE = 1 - 1e-6


def hidden_of(model: Model, count: int) -> np.ndarray:
    model.forward(TEXT[:count], 0, [])
    return model.hidden().copy()


def lowest_cosine(found: np.ndarray, expected: np.ndarray) -> float:
    lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    return float(((found.astype(np.float64) * expected).sum(axis=1) / lengths).min())


@pytest.mark.parametrize("write", ENCODERS.values(), ids=ENCODERS.keys())
@pytest.mark.parametrize("is_cpu", [True, False], ids=["software", "hardware"])
def test_as_dispatches(tmp_path: Path, write: Callable[[Path], Path], is_cpu: bool) -> None:
    path = write(tmp_path / "tiny.gguf")
    model, reference = load_dispatch(path, is_cpu=is_cpu), load(path, "reference")
    for count in (91, 1, 17, 64):
        found = hidden_of(model, count)
        assert lowest_cosine(found, hidden_of(reference, count)) > COSINE
    model.close()


@pytest.mark.parametrize("write", ENCODERS.values(), ids=ENCODERS.keys())
def test_no_steps(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    with pytest.raises(DeviceError, match="use executor 'auto' or 'dispatch'"):
        load_persistent(write(tmp_path / "tiny.gguf"))
