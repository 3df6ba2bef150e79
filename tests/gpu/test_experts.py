"""Models with experts on the GPU executors, in block formats and by matrices.

What test_architectures.py runs of them is in float32.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support.architectures import all_cases, qwen3moe
from support.executors import load, load_dispatch, load_persistent
from support.logits import logits_of
from support.random_model import VOCABULARY
from support.rounded_halves import round_to_halves
from support.rounded_inputs import round_inputs
from support.tiny_models import SHARP, TOLERANCE, error

from llm.gpu.device.matrices import multiplies
from llm.gpu.device.rendering_device import open_device
from llm.gpu.dispatch import executor as dispatch
from llm.gpu.kernels.matrix_tiles import MATRIX_TILES, SMALL_MATRIX_TILES
from llm.gpu.sampler import GREEDY

PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 61).tolist()
K_QUANTS = {**dict.fromkeys(qwen3moe.KINDS, Type.Q4_K), "ffn_gate_inp": Type.F32}
K_QUANTS |= {"output": Type.Q6_K, "ffn_down_exps": Type.Q6_K, "attn_output": Type.Q8_0}
BLOCKS: dict[str, Callable[[Path], Path]] = {
    "blocks of 32": partial(qwen3moe.write, formats=qwen3moe.EQUAL),
    "Q4_K_M": partial(qwen3moe.write, formats=K_QUANTS, width=512, feed_forward=256),
}
MIXED = partial(qwen3moe.write, formats=qwen3moe.MIXED)  # which no steps run


@pytest.mark.parametrize("is_cpu", [True, False], ids=["software", "hardware"])
@pytest.mark.parametrize(
    "write", [*BLOCKS.values(), MIXED], ids=[*BLOCKS, "gate and up in formats of their own"]
)
def test_as_dispatches(tmp_path: Path, write: Callable[[Path], Path], is_cpu: bool) -> None:
    path = write(tmp_path / "tiny.gguf")
    expected = logits_of(load(path, "reference"), PROMPT, [61])
    model = load_dispatch(path, is_cpu=is_cpu)
    for pieces in ([61], [7] * 4 + [3] + [1] * 30):
        assert error(logits_of(model, PROMPT, pieces), expected) < TOLERANCE
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
    expected = logits_of(load(path, "reference"), PROMPT, [61])
    model = load(path, "dispatch")
    for pieces in ([61], [7] * 8 + [5]):
        assert error(logits_of(model, PROMPT, pieces), expected) < TOLERANCE
    model.close()


@pytest.mark.parametrize("write", BLOCKS.values(), ids=BLOCKS)
def test_as_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], Path]
) -> None:
    round_inputs(monkeypatch)
    path = write(tmp_path / "tiny.gguf")
    models = [load_persistent(path), load(path, "reference")]
    for model in models:
        for first in (0, 20):
            model.forward(PROMPT[first : first + 20], first, [19])
    found, expected = (model.decode(PROMPT[40], 40, 17, GREEDY, ()) for model in models)
    assert found == expected
    for model in models:
        model.forward([PROMPT[57]], 57, [0])
    assert error(models[0].logits(), models[1].logits()) < SHARP
    models[0].close()
