"""Passes of a few tokens in one dispatch give what the reference gives.

Software drivers run the kernel with its matrices written out, on one group.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from support.architectures import gemma2, mistral3, phi3, qwen2
from support.loading import finish
from support.plain_fragments import plain_teams
from support.random_model import VOCABULARY
from support.tiny_gemma import LAYERS, WIDTH, write_tiny_gemma
from support.tiny_llama import write_tiny_llama
from support.tiny_models import TINY_MODELS, error

from llm.errors import DeviceError, DeviceMemoryError, NumericError
from llm.generate.model import Model, load_model
from llm.gpu.columns import passes
from llm.gpu.columns.pass_profile import units
from llm.gpu.columns.passes import ColumnPasses
from llm.gpu.device.matrices import has_fragments
from llm.gpu.device.probes import probe
from llm.gpu.device.rendering_device import RenderingDevice, open_device
from llm.gpu.fused import executor as fused
from llm.gpu.fused import persistent
from llm.gpu.fused.executor import FusedExecutor
from llm.gpu.kernels.kernel import Kernel
from llm.gpu.kernels.shader_source import expand_kernel
from llm.gpu.kernels.variants import pack_params
from llm.gpu.program import Batch
from llm.gpu.steps.residency import MOST_GROUPS

PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 61).tolist()
# Of the largest logit: weights and inputs are rounded to float16, as in test_matrices.py; a wrong
# scale, row or cell moves logits by 1e-1.
TOLERANCE = 5e-2
TYPICAL = 1e-2


def plain(kernel: Kernel) -> str:
    return plain_teams(expand_kernel(kernel))


@pytest.fixture(autouse=True)
def with_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU of few groups, which software drivers are taken for."""
    device = open_device()
    assert device is not None
    if device.is_cpu:
        monkeypatch.setattr(persistent, "resident_groups", lambda _meet: 1)
    monkeypatch.setattr(device, "is_cpu", False)
    monkeypatch.setattr(passes, "APART_GROUPS", 5)
    if not has_fragments(device):
        monkeypatch.setattr(passes, "has_fragments", lambda _device: True)
        monkeypatch.setattr(passes, "SUBGROUP_SIZE", probe(device, "probe_subgroups"))
        monkeypatch.setattr(passes, "expand_kernel", plain)


@pytest.fixture
def eight_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most, as each kernel takes seconds to compile on software drivers."""
    for module in (passes, fused):
        monkeypatch.setattr(module, "COLUMNS", (8,))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return TINY_MODELS["llama, Q4_K_M"](tmp_path / "tiny.gguf")


def load(path: Path, executor: str) -> Model:
    model = finish(load_model(str(path), executor=executor, context_length=96))
    assert model.executor == executor
    for name in kernels_of(model):
        assert device_of(model).is_compiled(name, 60.0)
    return model


def runner_of(model: Model) -> FusedExecutor:
    assert isinstance(model._executor, FusedExecutor)
    return model._executor


def passes_of(model: Model) -> ColumnPasses:
    found = runner_of(model)._passes
    assert found is not None
    return found


def kernels_of(model: Model) -> list[str]:
    return [name for name, _ in passes_of(model)._sources.values()]


def device_of(model: Model) -> RenderingDevice:
    return runner_of(model)._device


def check(model: Model, path: Path, counts: Sequence[int]) -> None:
    """Passes of so many tokens, one after the other, each with logits."""
    reference = finish(load_model(str(path), executor="reference", context_length=96))
    errors = []
    position = 0
    for count in counts:
        ids = PROMPT[position : position + count]
        for executor in (model, reference):
            executor.forward(ids, position, [count - 1])
        errors.append(error(model.logits(), reference.logits()))
        position += count
    assert max(errors) < TOLERANCE
    assert np.median(errors) < TYPICAL


@pytest.mark.parametrize(
    "write",
    [
        *(pytest.param(write, id=name) for name, write in TINY_MODELS.items()),
        pytest.param(gemma2.CASES["windows and caps"], id="gemma2, caps"),
        pytest.param(phi3.CASES["a long context"], id="phi3, a magnitude"),
        pytest.param(qwen2.CASES["biases"], id="qwen2, biases"),
        pytest.param(mistral3.CASES["queries that grow"], id="mistral3, queries that grow"),
    ],
)
@pytest.mark.usefixtures("eight_columns")
def test_models(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    """From the first cell on, beyond the window, with all columns and with some; each step apart,
    in sets of groups where rows are long."""
    path = write(tmp_path / "tiny.gguf")
    model = load(path, "dispatch")
    check(model, path, [8, 2, 7, 8, 5, 3, 8])
    made = passes_of(model)._passes[8]
    assert made is not None
    assert not made.is_resident
    assert len(made.rows) == len(made.layers.steps)
    model.close()


@pytest.mark.usefixtures("eight_columns")
def test_two_steps_of_a_slice(tmp_path: Path) -> None:
    """Where a device has few teams of lanes: some have only one step, or none."""
    path = write_tiny_llama(tmp_path / "tiny.gguf", width=608)
    model = load(path, "dispatch")
    check(model, path, [8, 2, 7])
    assert passes_of(model)._passes[8] is not None
    model.close()


@pytest.mark.usefixtures("eight_columns")
def test_all_steps_in_a_dispatch(tmp_path: Path) -> None:
    """With barriers between them."""
    path = TINY_MODELS["gemma, an input of 13 blocks"](tmp_path / "tiny.gguf")
    model = load(path, "persistent")
    check(model, path, [8, 2, 7])
    made = passes_of(model)._passes[8]
    assert made is not None
    assert made.is_resident
    assert len(made.rows) == 1
    model.close()


@pytest.mark.usefixtures("eight_columns")
@pytest.mark.parametrize("executor", ["dispatch", "persistent"])
def test_profile(tmp_path: Path, executor: str) -> None:
    """Counts the steps that run beside one another once, times all, and leaves the pass usable."""
    path = TINY_MODELS["gemma, an input of 13 blocks"](tmp_path / "tiny.gguf")
    model = load(path, executor)
    profile = model.profile(PROMPT[:8], 0)
    made = passes_of(model)._passes[8]
    assert made is not None
    assert all(work.microseconds > 0 for work in profile.times)
    counts = {work.what: work.count for work in profile.times}
    assert counts["attend"] == counts["rotate heads, store cells"] == LAYERS
    assert sum(" beside " in what for what in counts) > 0
    steps = sum(work.count * (1 + work.what.count(" beside ")) for work in profile.times)
    around = len(made.layers.before) + len(made.layers.after)
    assert steps == len(made.layers.steps) + around
    assert len(units(made)) < profile.dependent_steps <= len(units(made)) + around
    check(model, path, [8, 7])
    model.close()


@pytest.mark.usefixtures("eight_columns")
def test_many_cells(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations run where a token sees many."""
    monkeypatch.setattr(fused, "MOST_CELLS", 12)
    model = load(path, "dispatch")
    check(model, path, [8, 5])
    batches = [Batch([1] * 8, range(start, start + 8), [7]) for start in (0, 4, 5, 40)]
    found = [runner_of(model)._pass_of(batch) is not None for batch in batches]
    assert found == [True, True, False, False]
    model.close()


@pytest.mark.usefixtures("eight_columns")
@pytest.mark.parametrize("fails", ["drivers", "memory"])
def test_without_a_pass(path: Path, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    """Operations run where a driver refuses the kernel, or there is no memory for its steps."""
    model = load(path, "dispatch")
    device = device_of(model)
    kernels = kernels_of(model)
    pipeline, buffer = device.pipeline, device.buffer

    def refused(name: str, glsl: str) -> object:
        if name in kernels:
            raise DeviceError("the driver refuses the kernel")
        return pipeline(name, glsl)

    def full(size: int, what: str, *, addressed: bool = False) -> object:
        if "steps" in what:
            raise DeviceMemoryError("no memory")
        return buffer(size, what, addressed=addressed)

    if fails == "drivers":
        monkeypatch.setattr(device, "pipeline", refused)
    else:
        monkeypatch.setattr(device, "buffer", full)
    check(model, path, [8, 5])
    assert passes_of(model)._passes == {8: None}
    model.close()


@pytest.mark.usefixtures("eight_columns")
def test_nan_weights(tmp_path: Path) -> None:
    """Neither scales nor rounding hide them."""
    norm = np.ones(WIDTH, np.float32)
    norm[17] = np.nan
    replaced = {f"blk.{LAYERS - 1}.ffn_norm.weight": norm}
    model = load(write_tiny_gemma(tmp_path / "nan.gguf", replaced=replaced), "dispatch")
    for k in (1, 40, 0):
        model.forward(PROMPT[:8], 0, [7])
        with pytest.raises(NumericError, match="NaN or infinite"):
            model.candidates(k, None)
    assert passes_of(model)._passes[8] is not None
    model.close()


@pytest.mark.usefixtures("eight_columns")
def test_groups_that_do_not_meet(tmp_path: Path) -> None:
    """A pass whose groups gave up runs again as operations, and no other one is begun that way."""
    path = TINY_MODELS["gemma, an input of 13 blocks"](tmp_path / "tiny.gguf")
    model = load(path, "persistent")
    check(model, path, [8])
    made = passes_of(model)._passes[8]
    assert made is not None
    impatient = pack_params("columns_8", first=0, end=len(made.layers.steps), spins=1000)
    made.rows[0] = (*made.rows[0][:2], impatient, (2 * MOST_GROUPS, 1, 1), True)
    runner_of(model)._tables.clear()
    check(model, path, [8, 7])
    assert model.executor != "persistent"
    model.close()


def test_sixteen_columns(path: Path) -> None:
    model = load(path, "dispatch")
    check(model, path, [16, 9, 8, 13])
    assert all(passes_of(model)._passes[columns] for columns in (8, 16))
    model.close()
