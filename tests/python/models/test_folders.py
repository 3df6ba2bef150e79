"""The same weights as a GGUF file and as a Hugging Face folder give the same logits."""

from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support import tiny_gemma, tiny_llama
from support.architectures import qwen3moe
from support.loading import finish
from support.random_model import VOCABULARY
from support.safetensors_builder import restored, stored
from support.tiny_folders import as_folder, gemma_folder, in_type, llama_folder

from llm.files.gguf import GgufFile
from llm.files.opening import open_model
from llm.generate.model import load_model

PROMPT = np.random.default_rng(5).integers(0, VOCABULARY, 37).tolist()
FAMILIES = {
    "llama": (tiny_llama.write_tiny_llama, tiny_llama.MIXED, llama_folder),
    "gemma3": (tiny_gemma.write_tiny_gemma, tiny_gemma.MIXED, gemma_folder),
}


def logits_of(path: Path, quantize: str = "") -> np.ndarray:
    steps = load_model(
        str(path), executor="reference", max_outputs=64, chunk_rows=64, quantize=quantize
    )
    model = finish(steps)
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


def test_experts(tmp_path: Path) -> None:
    """Matrices that each lie alone in the folder."""
    plain = qwen3moe.write(tmp_path / "plain.gguf")
    made = as_folder(tmp_path / "folder", plain, in_type("F32"), model_type="qwen3_moe", files=3)
    expected = logits_of(plain)
    assert np.abs(logits_of(made) - expected).max() < 2e-5 * np.abs(expected).max()
    off = np.abs(logits_of(made, quantize="q8_0") - expected)
    # of most: a row that takes another expert is far off
    assert 1e-4 < np.median(off) / np.abs(expected).max() < 0.05


@pytest.mark.parametrize(("target", "bound"), [("q8_0", 0.05), ("q4_k", 0.4)])
def test_quantised_while_they_load(tmp_path: Path, family: Any, target: str, bound: float) -> None:
    """Near the plain model, and not it: random weights bear little, so these bounds are wide."""
    write, formats, folder = family
    plain = write(tmp_path / "plain.gguf", formats=dict.fromkeys(formats, Type.F32))
    made = folder(tmp_path / "folder", plain, in_type("F32"))
    expected = logits_of(plain)
    found = logits_of(made, quantize=target)
    off = np.abs(found - expected).max() / np.abs(expected).max()
    assert 1e-4 < off < bound


def test_float8(tmp_path: Path, family: Any) -> None:
    """Each matrix in 8-bit floats, with another kind of scale by turns."""
    write, formats, folder = family
    plain = write(tmp_path / "plain.gguf", formats=dict.fromkeys(formats, Type.F32))
    source = np.random.default_rng(2)
    kinds = cycle(["one", "rows", "blocks"])

    def encode(name: str, values: np.ndarray) -> Any:
        if "embed" in name or "lm_head" in name:  # such folders keep these
            return {name: stored(values, "F16")}
        kind = next(kinds)
        blocks = tuple(-(-side // 128) for side in values.shape)
        shape = {"one": (1,), "rows": (len(values), 1), "blocks": blocks}[kind]
        factors = source.uniform(1e-4, 4e-4, shape).astype(np.float32)
        codes = source.integers(0, 256, values.shape, np.uint8)
        codes[codes & 0x7F == 0x7F] = 0
        return {name: ("F8_E4M3", codes), name + "_scale_inv": ("F32", factors)}

    made = folder(tmp_path / "folder", plain, encode)
    with open_model(str(made)) as file:
        held = {
            name: file.data(name)
            .view(np.float32 if info.format.name == "f32" else np.float16)
            .reshape(info.shape)
            .astype(np.float32)
            for name, info in file.tensors.items()
        }
    same = write(tmp_path / "same.gguf", formats=dict.fromkeys(formats, Type.F32), replaced=held)
    assert np.array_equal(logits_of(made), logits_of(same))
