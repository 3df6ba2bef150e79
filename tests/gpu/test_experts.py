"""Models with experts on the GPU executors give what the reference gives."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support.architectures import all_cases, qwen3moe
from support.loading import finish
from support.random_model import VOCABULARY
from support.rounded_halves import round_to_halves
from support.rounded_inputs import round_inputs
from support.tiny_models import SHARP, error

from llm.generate.model import Model, load_model
from llm.gpu.device.matrices import multiplies
from llm.gpu.device.rendering_device import open_device
from llm.gpu.dispatch import executor as dispatch
from llm.gpu.dispatch.executor import DispatchExecutor
from llm.gpu.fused import executor as fused
from llm.gpu.fused import persistent
from llm.gpu.kernels.matrix_tiles import MATRIX_TILES, SMALL_MATRIX_TILES
from llm.gpu.sampler import GREEDY

PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 61).tolist()
TOLERANCE = 3e-3  # see test_dispatch.py
CASES = [
    *all_cases(),
    pytest.param(
        partial(qwen3moe.write, formats=qwen3moe.MIXED), id="qwen3moe, formats of their own"
    ),
]
K_QUANTS = {**dict.fromkeys(qwen3moe.KINDS, Type.Q4_K), "ffn_gate_inp": Type.F32}
K_QUANTS |= {"output": Type.Q6_K, "ffn_down_exps": Type.Q6_K}
WITH_STEPS: dict[str, Callable[[Path], Path]] = {
    "qwen3moe": qwen3moe.write,
    "qwen3moe, blocks of 32": partial(qwen3moe.write, formats=qwen3moe.EQUAL),
    "qwen3moe, Q4_K_M": partial(
        qwen3moe.write,
        formats={**K_QUANTS, "attn_output": Type.Q8_0},
        width=512,
        feed_forward=256,
    ),
}


def load(path: Path, name: str) -> Model:
    return finish(
        load_model(str(path), executor=name, context_length=96, max_outputs=64, chunk_rows=64)
    )


def load_dispatch(path: Path, *, is_cpu: bool) -> Model:
    """With the kernels for software drivers or with those for GPUs, whatever this device is."""
    device = open_device()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "is_cpu", is_cpu)
        patch.setattr(fused, "FusedExecutor", DispatchExecutor)
        model = load(path, "dispatch")
    assert model.executor == "dispatch"
    return model


def logits_of(model: Model, pieces: list[int]) -> np.ndarray:
    found, start = [], 0
    for count in pieces:
        ids = PROMPT[start : start + count]
        model.forward(ids, start, range(len(ids)))
        found.append(model.logits().copy())
        start += count
    assert start == len(PROMPT)
    return np.concatenate(found)


@pytest.mark.parametrize("is_cpu", [True, False], ids=["software", "hardware"])
@pytest.mark.parametrize("write", CASES)
def test_logits(tmp_path: Path, write: Callable[[Path], Path], is_cpu: bool) -> None:
    path = write(tmp_path / "tiny.gguf")
    expected = logits_of(load(path, "reference"), [61])
    model = load_dispatch(path, is_cpu=is_cpu)
    for pieces in ([61], [7] * 8 + [5], [31, *[1] * 30]):
        found = logits_of(model, pieces)
        assert np.abs(found - expected).max() < TOLERANCE * np.abs(expected).max()
    model.close()


@pytest.mark.parametrize("write", all_cases("gpt_oss", "qwen2moe", "qwen3moe"))
def test_by_matrices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], Path]
) -> None:
    """But for attention, which software drivers take long to compile."""
    device = open_device()
    assert device is not None
    tiles = MATRIX_TILES if multiplies(device, 32) else SMALL_MATRIX_TILES
    if not multiplies(device, tiles[0].subgroup_size):
        pytest.skip(f"{device.name} multiplies no cooperative matrices")
    monkeypatch.setattr(dispatch, "usable_tiles", lambda _: tiles)
    round_to_halves(monkeypatch)
    path = write(tmp_path / "tiny.gguf")
    expected = logits_of(load(path, "reference"), [61])
    model = load(path, "dispatch")
    for pieces in ([61], [7] * 8 + [5]):
        found = logits_of(model, pieces)
        assert np.abs(found - expected).max() < TOLERANCE * np.abs(expected).max()
    model.close()


@pytest.mark.parametrize("write", WITH_STEPS.values(), ids=WITH_STEPS)
def test_as_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], Path]
) -> None:
    device = open_device()
    assert device is not None
    if device.is_cpu:
        monkeypatch.setattr(persistent, "resident_groups", lambda _meet: 1)
    round_inputs(monkeypatch)
    path = write(tmp_path / "tiny.gguf")
    models = [load(path, "persistent"), load(path, "reference")]
    assert models[0].executor == "persistent"
    for model in models:
        model.forward(PROMPT[:40], 0, [39])
    found, expected = (model.decode(PROMPT[40], 40, 17, GREEDY, ()) for model in models)
    assert found == expected
    for model in models:
        model.forward([PROMPT[57]], 57, [0])
    assert error(models[0].logits(), models[1].logits()) < SHARP
    models[0].close()
