"""The same weights as a GGUF file and as a Hugging Face folder give the same logits."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support import tiny_gemma, tiny_llama
from support.loading import finish
from support.random_model import VOCABULARY
from support.safetensors_builder import restored
from support.tiny_folders import gemma_folder, in_type, llama_folder

from llm.files.gguf import GgufFile
from llm.generate.model import load_model

PROMPT = np.random.default_rng(5).integers(0, VOCABULARY, 37).tolist()
FAMILIES = {
    "llama": (tiny_llama.write_tiny_llama, tiny_llama.MIXED, llama_folder),
    "gemma3": (tiny_gemma.write_tiny_gemma, tiny_gemma.MIXED, gemma_folder),
}


def logits_of(path: Path) -> np.ndarray:
    model = finish(load_model(str(path), executor="reference", max_outputs=64, chunk_rows=64))
    model.forward(PROMPT, 0, range(len(PROMPT)))
    found = model.logits().copy()
    model.close()
    return found


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> tuple[Callable[..., Path], Any, Callable[..., Path]]:
    return FAMILIES[request.param]


@pytest.mark.parametrize("files", [1, 3])
@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
def test_logits(tmp_path: Path, family: Any, dtype: str, files: int) -> None:
    write, formats, folder = family
    plain = write(tmp_path / "plain.gguf", formats=dict.fromkeys(formats, Type.F32))
    with GgufFile.open(str(plain)) as file:
        rounded = {
            name: restored(file.data(name).view(np.float32).reshape(info.shape), dtype)
            for name, info in file.tensors.items()
            if len(info.shape) > 1
        }
    kept = write(tmp_path / "m.gguf", formats=dict.fromkeys(formats, Type.F32), replaced=rounded)
    made = folder(tmp_path / "folder", kept, in_type(dtype), files=files)
    expected = logits_of(kept)
    # Gemma's norms lose a bit where one is taken off and added again.
    assert np.abs(logits_of(made) - expected).max() < 2e-5 * np.abs(expected).max()
