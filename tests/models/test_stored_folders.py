"""Folders as they are published give the logits and vectors that transformers makes of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.loading import finish
from support.stored_folders import EXPECTED, POSITIONS, PROMPT, described, write_stored_folder

from llm.files.folder.families.registry import FAMILIES
from llm.generate.model import Model, load_model
from llm.models.pooling import FIRST

CASES = described()


@pytest.fixture(scope="module")
def expected() -> Any:
    return np.load(EXPECTED)


def loaded(path: Path) -> Model:
    return finish(load_model(str(path), executor="reference", max_outputs=64, chunk_rows=64))


def difference(found: np.ndarray, expected: np.ndarray) -> float:
    """The root of its mean square, as a share; cells hold float16, and transformers has float32."""
    off = ((found - expected) ** 2).mean() / (expected**2).mean()
    return float(np.sqrt(off))


@pytest.mark.parametrize("case", [case for case in CASES if "files" not in CASES[case]])
def test_logits(tmp_path: Path, expected: Any, case: str) -> None:
    model = loaded(write_stored_folder(tmp_path, CASES[case]))
    model.forward(PROMPT, 0, POSITIONS)
    found = model.logits().copy()
    model.close()
    assert difference(found, expected[case]) < 4e-3


@pytest.mark.parametrize("case", [case for case in CASES if "files" in CASES[case]])
def test_vectors(tmp_path: Path, expected: Any, case: str) -> None:
    model = loaded(write_stored_folder(tmp_path, CASES[case]))
    model.forward(PROMPT, 0, [])
    rows = model.hidden()
    vector = rows[0] if model.pooling == FIRST else rows.mean(axis=0)
    model.close()
    assert difference(vector / np.linalg.norm(vector), expected[case][0]) < 4e-3


def test_every_model_type_is_there() -> None:
    """Gemma 3n with images and sound needs what is not installed everywhere."""
    configs = [case["config"] for case in CASES.values()]
    inner = [config["text_config"] for config in configs if "text_config" in config]
    assert {config["model_type"] for config in configs + inner} == set(FAMILIES) - {"gemma3n"}
