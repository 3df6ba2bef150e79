"""Every architecture that folders are read as gives, as a folder, the logits of its GGUF file."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from support.loading import finish
from support.random_model import VOCABULARY
from support.tiny_folders import as_folder, in_type

from llm.files.folder.config import ARCHITECTURES
from llm.generate.model import load_model
from llm.models.registry import ARCHITECTURES as RUNNING

PROMPT = np.random.default_rng(5).integers(0, VOCABULARY, 40).tolist()
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
    for model_type, name in ARCHITECTURES.items()
    if name in RUNNING and model_type not in ("gemma3", "mixtral", "qwen3_moe")
    for case, write in import_module(f"support.architectures.{name}").CASES.items()
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
