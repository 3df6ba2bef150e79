"""Fused steps, each a dispatch of several groups, give what the reference gives."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support.loading import finish
from support.random_model import VOCABULARY
from support.rounded_inputs import round_inputs
from support.tiny_gemma import LAYERS, MIXED, WIDTH, write_tiny_gemma
from support.tiny_llama import write_tiny_llama
from support.tiny_models import SHARP, STEP_MODELS, TOLERANCE, TYPICAL, error

from llm.errors import DeviceError, NumericError
from llm.generate.model import Model, load_model
from llm.gpu.adjustments import Adjustments
from llm.gpu.device.probes import probe
from llm.gpu.device.rendering_device import RenderingDevice, open_device
from llm.gpu.fused import executor as fused
from llm.gpu.kernels.resident import RESIDENT_SUBGROUPS
from llm.gpu.sampler import GREEDY
from llm.gpu.steps import attention

PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 320).tolist()
GROUPS = 16  # of a step


@pytest.fixture(autouse=True)
def a_gpu_of_few_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Software drivers run these steps as well, if nothing else does."""
    device = open_device()
    assert device is not None
    monkeypatch.setattr(device, "is_cpu", False)
    monkeypatch.setattr(fused, "STEP_GROUPS", GROUPS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_tiny_gemma(tmp_path / "tiny.gguf")


def load(path: Path, executor: str = "dispatch", context_length: int = 96) -> Model:
    model = finish(load_model(str(path), executor=executor, context_length=context_length))
    assert model.executor == executor
    return model


@pytest.fixture
def pair(path: Path) -> Iterator[tuple[Model, Model]]:
    model = load(path)
    yield model, load(path, "reference")
    model.close()


def runs_steps(model: Model) -> bool:
    """A profile tells steps from operations."""
    times = model.profile(PROMPT[:1], 0).times
    assert any(work.what.startswith("att") for work in times)
    return any(work.what.startswith("attention, ") for work in times)


def logits_of(model: Model, position: int) -> np.ndarray:
    """Of one token, with the prompt before it."""
    for start in range(0, position, model.chunk_size):
        ids = PROMPT[start : min(start + model.chunk_size, position)]
        model.forward(ids, start, [])
    model.forward(PROMPT[position : position + 1], position, [0])
    return model.logits().copy()


@pytest.mark.parametrize("write", STEP_MODELS.values(), ids=STEP_MODELS)
def test_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], Path]
) -> None:
    round_inputs(monkeypatch)
    path = write(tmp_path / "tiny.gguf")
    model, reference = load(path), load(path, "reference")
    assert runs_steps(model)
    for executor in (model, reference):
        for first in (0, 25):  # runs may be as short as 32
            executor.forward(PROMPT[first : first + 25], first, [24])
    errors = []
    for position in (0, *range(50, 60)):
        for executor in (model, reference):
            executor.forward([PROMPT[position]], position, [0])
        errors.append(error(model.logits(), reference.logits()))
    assert np.median(errors) < TYPICAL
    assert max(errors) < SHARP
    greedy = [executor.decode(PROMPT[60], 60, 17, GREEDY, ()) for executor in (model, reference)]
    assert greedy[0] == greedy[1]
    model.close()


def test_small_heads(tmp_path: Path) -> None:
    """As small as steps take them, so that a subgroup has several cells at once."""
    device = open_device()
    assert device is not None
    head_size = 2 * max(probe(device, "probe_subgroups"), RESIDENT_SUBGROUPS)
    path = write_tiny_llama(tmp_path / "tiny.gguf", head_size=head_size)
    model, reference = load(path), load(path, "reference")
    assert runs_steps(model)
    for position in range(40, 45):
        expected = logits_of(reference, position)
        assert error(logits_of(model, position), expected) < TOLERANCE, position
    model.close()


@pytest.mark.parametrize("groups", [1, 3, 128])
def test_any_number_of_groups(path: Path, monkeypatch: pytest.MonkeyPatch, groups: int) -> None:
    monkeypatch.setattr(fused, "STEP_GROUPS", groups)
    model = load(path)
    expected = logits_of(load(path, "reference"), 40)
    assert error(logits_of(model, 40), expected) < TOLERANCE
    model.close()


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(
            partial(
                write_tiny_gemma,
                metadata={"gemma3.context_length": 320, "gemma3.attention.sliding_window": 270},
            ),
            id="gemma",
        ),
        pytest.param(partial(write_tiny_llama, metadata={"llama.context_length": 320}), id="llama"),
    ],
)
@pytest.mark.parametrize(
    "groups",
    [
        pytest.param(GROUPS, id="heads apart"),
        pytest.param(6, id="heads together later"),
        pytest.param(3, id="heads together soon"),
    ],
)
def test_parts_of_the_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], Path], groups: int
) -> None:
    """Each group has a part of a head's cells, some none; a step joins them."""
    monkeypatch.setattr(attention, "FEW_CELLS", (192, 192))
    monkeypatch.setattr(fused, "STEP_GROUPS", groups)
    path = write(tmp_path / "tiny.gguf")
    model, reference = load(path, context_length=320), load(path, "reference", 320)
    for position in (31, 32, 100, 255, 260, 301):
        expected = logits_of(reference, position)
        assert error(logits_of(model, position), expected) < TOLERANCE, position
    model.close()


@pytest.mark.parametrize("position", [191, 192])
def test_many_cells_have_steps_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, position: int
) -> None:
    """From where on these are quicker."""
    monkeypatch.setattr(attention, "FEW_CELLS", (192, 192))
    monkeypatch.setattr(fused, "STEP_GROUPS", 6)
    path = write_tiny_llama(tmp_path / "tiny.gguf", metadata={"llama.context_length": 320})
    model, reference = load(path, context_length=320), load(path, "reference", 320)
    expected = logits_of(reference, position)
    executor = model._executor
    assert isinstance(executor, fused.FusedExecutor)
    near, far = executor._lists
    monkeypatch.setattr(executor, "_lists", [near, None] if position < 192 else [None, far])
    assert error(logits_of(model, position), expected) < TOLERANCE
    model.close()


@pytest.mark.parametrize("name", ["F32", "F16", "Q5_0", "Q8_0", "Q4_K", "Q6_K"])
def test_embedding_and_head_in_every_format(tmp_path: Path, name: str) -> None:
    """The other matrices keep all formats in use, so that one kernel serves all of these."""
    kind = Type[name]
    swapped = next(matrix for matrix, used in MIXED.items() if used is kind)
    formats = {**MIXED, swapped: MIXED["token_embd"], "token_embd": kind}
    path = write_tiny_gemma(tmp_path / "tiny.gguf", formats=formats)
    model = load(path)
    expected = logits_of(load(path, "reference"), 7)
    assert error(logits_of(model, 7), expected) < TOLERANCE
    model.close()


def test_without_integer_dots(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of integers are exact, however they are made."""
    with_dots = load(path)
    expected = logits_of(with_dots, 40)
    with_dots.close()
    probe: Callable[[RenderingDevice, str], int] = fused.probe
    compiled: list[str] = []
    compile_kernel = RenderingDevice.compile

    def compile(device: RenderingDevice, name: str, glsl: str) -> None:
        compiled.append(glsl)
        compile_kernel(device, name, glsl)

    monkeypatch.setattr(RenderingDevice, "compile", compile)
    monkeypatch.setattr(
        fused,
        "probe",
        lambda device, name: 0 if name == "probe_integer_dot" else probe(device, name),
    )
    model = load(path)
    assert runs_steps(model)
    steps = [glsl for glsl in compiled if "STEP_KIND" in glsl]
    assert steps
    assert not any("#define HAS_INTEGER_DOT" in glsl for glsl in steps)
    assert error(logits_of(model, 40), expected) < 1e-6
    model.close()


def test_the_profile_of_a_token(pair: tuple[Model, Model]) -> None:
    model, reference = pair
    for executor in pair:
        executor.forward(PROMPT[:20], 0, [])
    profile = model.profile(PROMPT[20:21], 20)
    assert profile.dependent_steps == sum(work.count for work in profile.times) == 5 * LAYERS + 1
    assert all(work.microseconds > 0 for work in profile.times)
    for executor in pair:
        executor.forward(PROMPT[20:21], 20, [0])
    assert error(model.logits(), reference.logits()) < TOLERANCE


def test_several_rows_or_no_logits_are_operations(pair: tuple[Model, Model]) -> None:
    """And leave to the steps what they need."""
    model, reference = pair
    for executor in pair:
        executor.forward(PROMPT[:3], 0, [1])
        executor.forward(PROMPT[3:4], 3, [])
        executor.forward(PROMPT[4:5], 4, [0])
    assert error(model.logits(), reference.logits()) < TOLERANCE


def test_heads_that_the_kernel_does_not_take(tmp_path: Path) -> None:
    path = write_tiny_llama(tmp_path / "tiny.gguf", head_size=96)
    model = load(path)
    assert not runs_steps(model)
    expected = logits_of(load(path, "reference"), 20)
    assert error(logits_of(model, 20), expected) < TOLERANCE
    model.close()
    with pytest.raises(DeviceError, match="use executor 'auto' or 'dispatch'"):
        load(path, "persistent")


@pytest.mark.parametrize("lacking", ["has_addresses", "shared_memory"])
def test_devices_that_cannot(path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str) -> None:
    monkeypatch.setattr(RenderingDevice, lacking, 0)
    model = load(path)
    assert not runs_steps(model)
    expected = logits_of(load(path, "reference"), 9)
    assert error(logits_of(model, 9), expected) < TOLERANCE
    model.close()


def test_a_driver_that_cannot_make_the_kernel(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_others = RenderingDevice.pipeline

    def pipeline(device: RenderingDevice, name: str, glsl: str) -> object:
        if "STEP_KIND" in glsl:
            raise DeviceError("this driver cannot")
        return compile_others(device, name, glsl)

    monkeypatch.setattr(RenderingDevice, "pipeline", pipeline)
    model = load(path)
    assert not runs_steps(model)
    model.close()


def test_nan_weights(tmp_path: Path) -> None:
    """Integers could hide them."""
    norm = np.ones(WIDTH, np.float32)
    norm[17] = np.nan
    path = write_tiny_gemma(tmp_path / "nan.gguf", replaced={"blk.3.ffn_norm.weight": norm})
    model = load(path)
    adjustments = Adjustments({3: 1}, 1.5, 0.0, 0.0)
    for k, changes in ((1, None), (40, None), (0, None), (1, adjustments), (0, adjustments)):
        model.forward(PROMPT[:1], 0, [0])
        with pytest.raises(NumericError, match="NaN or infinite"):
            model.candidates(k, changes)
    model.forward(PROMPT[:1], 0, [0])
    with pytest.raises(NumericError, match="NaN or infinite"):
        model.logits()
    model.close()
