"""Weights of Hugging Face folders on the GPU: as they are, and quantised on their way there."""

from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support import tiny_gemma, tiny_llama
from support.loading import finish
from support.random_model import VOCABULARY
from support.stored_folders import described, write_stored_folder
from support.tiny_folders import gemma_folder, in_type, llama_folder

from llm.generate.model import load_model
from llm.gpu.device import upload

PROMPT = np.random.default_rng(5).integers(0, VOCABULARY, 37).tolist()
TOLERANCE = 3e-3  # as in test_dispatch.py
FAMILIES = {
    "llama": (tiny_llama.write_tiny_llama, tiny_llama.MIXED, llama_folder),
    "gemma3": (tiny_gemma.write_tiny_gemma, tiny_gemma.MIXED, gemma_folder),
}


def logits_of(path: Path, executor: str, quantize: str) -> np.ndarray:
    steps = load_model(
        str(path),
        executor=executor,
        context_length=64,
        max_outputs=64,
        chunk_rows=64,
        quantize=quantize,
    )
    model = finish(steps)
    model.forward(PROMPT, 0, range(len(PROMPT)))
    found = model.logits().copy()
    model.close()
    return found


@pytest.mark.parametrize("quantize", ["", "q8_0", "q4_k"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_gpu_gives_what_the_reference_gives(
    tmp_path: Path, family: str, quantize: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, formats, folder = FAMILIES[family]
    plain = write(tmp_path / "plain.gguf", formats=dict.fromkeys(formats, Type.F32))
    made = folder(tmp_path / "folder", plain, in_type("F16"), files=2)
    expected = logits_of(made, "reference", quantize)
    monkeypatch.setattr(upload, "SLICE_BYTES", 10_000)  # several slices a weight
    found = logits_of(made, "dispatch", quantize)
    assert np.abs(found - expected).max() < TOLERANCE * np.abs(expected).max()


@pytest.mark.parametrize("case", ["gpt_oss, MXFP4", "gpt_oss", "qwen3_5_text", "lfm2"])
def test_rows_that_are_made_while_they_load(
    tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write_stored_folder(tmp_path, described()[case])
    expected = logits_of(made, "reference", "")
    monkeypatch.setattr(upload, "SLICE_BYTES", 1_000)
    found = logits_of(made, "dispatch", "")
    assert np.abs(found - expected).max() < TOLERANCE * np.abs(expected).max()
