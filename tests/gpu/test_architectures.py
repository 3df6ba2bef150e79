"""Every architecture on the GPU executors gives what the reference gives, in float32 weights."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support.architectures import AS_DISPATCHES, WITH_STEPS, all_cases, phi3
from support.executors import load, load_dispatch, load_persistent
from support.logits import logits_of
from support.random_model import VOCABULARY
from support.rounded_inputs import round_inputs
from support.tiny_models import SHARP, TOLERANCE, error

from llm.errors import DeviceError
from llm.gpu.sampler import GREEDY

PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 61).tolist()


@pytest.mark.parametrize("write", all_cases())
@pytest.mark.parametrize("is_cpu", [True, False], ids=["software", "hardware"])
def test_as_dispatches(tmp_path: Path, write: Callable[[Path], Path], is_cpu: bool) -> None:
    path = write(tmp_path / "tiny.gguf")
    expected = logits_of(load(path, "reference"), PROMPT, [61])
    model = load_dispatch(path, is_cpu=is_cpu)
    for pieces in ([61], [7] * 4 + [3] + [1] * 30):
        assert error(logits_of(model, PROMPT, pieces), expected) < TOLERANCE
    model.close()


@pytest.mark.parametrize(
    "write", [case for case in all_cases(*WITH_STEPS) if case.id not in AS_DISPATCHES]
)
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


@pytest.mark.parametrize("write", [case for case in all_cases() if case.id in AS_DISPATCHES])
def test_no_steps(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    with pytest.raises(DeviceError, match="use executor 'auto' or 'dispatch'"):
        load_persistent(write(tmp_path / "tiny.gguf"))


def test_rows_of_a_matrix_in_blocks(tmp_path: Path) -> None:
    """Of three matrices stacked on each other, in formats whose rows have five blocks."""
    formats = {"attn_qkv": Type.Q5_0, "ffn_up": Type.Q8_0}
    path = phi3.write(tmp_path / "tiny.gguf", formats=formats)
    expected = logits_of(load(path, "reference"), PROMPT, [61])
    for is_cpu in (True, False):
        model = load_dispatch(path, is_cpu=is_cpu)
        assert error(logits_of(model, PROMPT, [30] + [1] * 31), expected) < TOLERANCE
        model.close()
