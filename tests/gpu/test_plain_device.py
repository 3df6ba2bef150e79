"""A GPU without device addresses and cooperative matrices, as under D3D12, has baseline kernels."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
import pytest
from support.architectures import gemma4, qwen3moe, qwen3next
from support.executors import load
from support.kernel_samples import is_baseline
from support.logits import logits_of
from support.random_model import VOCABULARY
from support.tiny_llama import write_tiny_k_quant_llama
from support.tiny_models import TOLERANCE, error

from llm.gpu.device import matrices
from llm.gpu.device.rendering_device import RenderingDevice, open_device
from llm.gpu.dispatch import executor as dispatch

PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 61).tolist()
PIECES = (50, 7, *[1] * 4)
MODELS: dict[str, Callable[[Path], Path]] = {
    "dense": write_tiny_k_quant_llama,
    "experts": partial(qwen3moe.write, formats=qwen3moe.EQUAL),
    "recurrent state": qwen3next.CASES["experts"],
    "per-layer embeddings": gemma4.write_gemma4,
}


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    device = open_device()
    assert device is not None
    monkeypatch.setattr(RenderingDevice, "has_addresses", False)
    monkeypatch.setattr(device, "is_cpu", False)
    monkeypatch.setattr(device, "extensions", frozenset())
    monkeypatch.setattr(matrices, "_found", WeakKeyDictionary())
    monkeypatch.setattr(dispatch, "usable_tiles", matrices.usable_tiles)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("write", MODELS.values(), ids=MODELS)
def test_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], Path]
) -> None:
    path = write(tmp_path / "tiny.gguf")
    expected = logits_of(load(path, "reference"), PROMPT, [len(PROMPT)])
    asked: set[str] = set()
    compile_kernel = RenderingDevice.compile

    def note(device: RenderingDevice, name: str, glsl: str) -> None:
        asked.add(name)
        compile_kernel(device, name, glsl)

    monkeypatch.setattr(RenderingDevice, "compile", note)
    model = load(path, "auto")
    assert model.executor == "dispatch"
    assert error(logits_of(model, PROMPT, PIECES), expected) < TOLERANCE
    model.candidates(1)
    model.close()
    assert len(asked) > 10
    assert [name for name in asked if not is_baseline(name)] == []
