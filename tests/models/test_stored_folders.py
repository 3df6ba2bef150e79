"""Folders as they are published give the logits and vectors that transformers makes of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.loading import finish
from support.stored_folders import EXPECTED, POSITIONS, PROMPT, described, write_stored_folder

from llm.generate.model import load_model

CASES = described()


@pytest.fixture(scope="module")
def expected() -> Any:
    return np.load(EXPECTED)


def logits_of(path: Path) -> np.ndarray:
    model = finish(load_model(str(path), executor="reference", max_outputs=64, chunk_rows=64))
    model.forward(PROMPT, 0, POSITIONS)
    found = model.logits().copy()
    model.close()
    return found


@pytest.mark.parametrize("case", [case for case in CASES if "files" not in CASES[case]])
def test_logits(tmp_path: Path, expected: Any, case: str) -> None:
    found = logits_of(write_stored_folder(tmp_path, CASES[case]))
    assert np.abs(found - expected[case]).max() < 2e-5 * np.abs(expected[case]).max()
