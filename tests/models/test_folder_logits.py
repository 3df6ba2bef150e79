"""A model saved both ways gives the same logits as a folder and as a file, to the last digits."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from support.loading import finish
from support.random_model import VOCABULARY
from support.tiny_folders import as_folder, in_type

from llm.files.folder.families.registry import FAMILIES
from llm.generate.model import load_model

PROMPT = np.random.default_rng(5).integers(0, VOCABULARY, 40).tolist()
# Others are compared with transformers only, in test_stored_folders.py.
MODEL_TYPES = (
    "gemma",
    "gemma2",
    "gemma3_text",
    "granite",
    "llama",
    "mistral",
    "phi3",
    "qwen2",
    "qwen3",
    "smollm3",
)
# What GGUF says and a folder cannot, or in other settings; and what would only take long.
LEFT_OUT = {
    "factors of frequencies",
    "a scaling that is none",
    "yarn",
    "longrope",
    "as many layers as 27B",
}
CASES: dict[str, tuple[str, Callable[[Path], Path]]] = {
    f"{model_type}, {case}": (model_type, write)
    for model_type in MODEL_TYPES
    for case, write in import_module(
        f"support.architectures.{FAMILIES[model_type].architecture}"
    ).CASES.items()
    if case not in LEFT_OUT
}


def logits_of(path: Path) -> np.ndarray:
    model = finish(load_model(str(path), executor="reference", max_outputs=64, chunk_rows=64))
    model.forward(PROMPT, 0, range(len(PROMPT)))
    found = model.logits().copy()
    model.close()
    return found


@pytest.mark.parametrize("case", CASES)
def test_logits(tmp_path: Path, case: str) -> None:
    model_type, write = CASES[case]
    file = write(tmp_path / "m.gguf")
    folder = as_folder(tmp_path / "folder", file, in_type("F32"), model_type=model_type)
    expected = logits_of(file)
    assert np.abs(logits_of(folder) - expected).max() < 2e-6 * np.abs(expected).max()
