"""Whole models with products by cooperative matrices, against the reference and llama.cpp.

Software drivers run their small tiles here, which no game would use there.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.default_model import DEFAULT_MODEL
from support.divergence import divergence
from support.loading import finish
from support.logits import logits_of
from support.random_model import VOCABULARY
from support.tiny_adapter import write_tiny_adapter
from support.tiny_gemma import write_tiny_gemma
from support.tiny_llama import write_tiny_k_quant_llama

import godot
from llm.errors import DeviceError
from llm.generate.model import Model, load_model
from llm.generate.request import AdapterUse
from llm.gpu.device import matrices, rendering_device, vulkan
from llm.gpu.device.matrices import EXTENSION, has_fragments, multiplies, usable_tiles
from llm.gpu.device.rendering_device import RenderingDevice, open_device
from llm.gpu.dispatch import executor as dispatch
from llm.gpu.executors import CPU_ROWS, GPU_ROWS, MATRIX_ROWS, choose_executor
from llm.gpu.kernels.matrix_tiles import (
    FEW_TILES,
    MATRIX_TILES,
    SMALL_MATRIX_TILES,
    FewTile,
)
from llm.gpu.kernels.variants import KERNELS
from llm.gpu.operations import MatMul
from llm.gpu.reference import executor as reference
from llm.gpu.reference.workspace import Workspace

POSITIONS = 48
GREATEST = 2.0**14  # what the largest value of a row is brought below
PROSE = Path(__file__).parents[1] / "golden" / "prose_logits.npz"
PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 61).tolist()
# Of the largest logit. Rounding to float16 falls to the other side here and there; one flip moved a
# logit by 4e-3. A wrong scale or a row left out moves them by 1e-1.
TOLERANCE = 1e-2
FEW_TOLERANCE = 5e-2  # up to 16 columns of some devices: scales are rounded before weights are
ROUNDED = 0.2  # the same, against products that do not round to float16: see test_logits


@pytest.fixture(scope="module")
def device() -> RenderingDevice:
    device = open_device()
    assert device is not None
    return device


@pytest.fixture(scope="module", autouse=True)
def with_matrices(device: RenderingDevice) -> Iterator[None]:
    """Every model of this module multiplies with what tiles the device takes."""
    tiles = MATRIX_TILES if multiplies(device, 32) else SMALL_MATRIX_TILES
    if not multiplies(device, tiles[0].subgroup_size):
        pytest.skip(f"{device.name} multiplies no cooperative matrices")
    few = FEW_TILES if has_fragments(device) else ()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "usable_tiles", lambda _: (*tiles, *few))
        yield


@pytest.fixture
def compiled(device: RenderingDevice, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources of the kernels that are asked for."""
    found = []
    pipeline = RenderingDevice.pipeline

    def watch(self: RenderingDevice, name: str, glsl: str) -> object:
        found.append(KERNELS[name].source if name in KERNELS else name)
        return pipeline(self, name, glsl)

    monkeypatch.setattr(RenderingDevice, "pipeline", watch)
    return found


def load(path: Path, executor: str, rows: int = 64) -> Model:
    return finish(
        load_model(
            str(path), executor=executor, context_length=128, max_outputs=rows, chunk_rows=rows
        )
    )


def matmul_of_halves(run: Workspace, op: MatMul) -> None:
    """The reference's product, of float16 weights and rows."""
    rows = run.rows(op.count)
    x = run.view(op.x, rows)
    largest = np.abs(x).max(axis=1, keepdims=True)
    scale = 2.0 ** np.floor(np.log2(GREATEST / largest))
    halves = (x * scale).astype(np.float16).astype(np.float32)
    weights = run.weights[op.weight.name].astype(np.float16).astype(np.float32)
    y = (halves @ weights.T / scale).astype(np.float32)
    residual = 0.0 if op.residual is None else run.view(op.residual, rows)
    run.view(op.y, rows)[:] = residual + y


@pytest.mark.parametrize("write", [write_tiny_gemma, write_tiny_k_quant_llama])
def test_logits(
    tmp_path: Path,
    device: RenderingDevice,
    compiled: list[str],
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[Path], Path],
) -> None:
    """Against rounded products: on these random weights, rounding alone moves a logit by 5e-2."""
    path = write(tmp_path / "tiny.gguf")
    monkeypatch.setitem(reference.RUN, MatMul, matmul_of_halves)
    expected = logits_of(load(path, "reference"), PROMPT, [61])
    model = load(path, "dispatch")
    assert {"matmul_matrix.comp", "halve_rows.comp"} <= set(compiled)
    for pieces in ([61], [20, 20, 21], [31, 30], [7, 16, 38]):
        found = logits_of(model, PROMPT, pieces)
        has_few = has_fragments(device) and min(pieces) <= FEW_TILES[-1].columns
        tolerance = FEW_TOLERANCE if has_few else TOLERANCE
        assert np.abs(found - expected).max() < tolerance * np.abs(expected).max()
    model.close()


def test_adapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their products read the float16 rows that those of the model read. A flip moved one row of
    the logits by 1e-2, and half of them moved by less than 2e-4."""
    path = write_tiny_gemma(tmp_path / "tiny.gguf")
    adapter = AdapterUse(str(write_tiny_adapter(tmp_path / "lora.gguf", path)))
    monkeypatch.setitem(reference.RUN, MatMul, matmul_of_halves)
    models = [load(path, "reference"), load(path, "dispatch")]
    plain = logits_of(models[0], PROMPT, [61])
    for model in models:
        model.sequences.open().adapt([adapter])
    expected, found = (logits_of(model, PROMPT, [61]) for model in models)
    largest = np.abs(expected).max()
    assert np.abs(found - expected).max() < FEW_TOLERANCE * largest
    assert np.median(np.abs(found - expected)) < 1e-3 * largest
    assert np.abs(plain - expected).max() > 0.1 * largest
    models[1].close()


def test_prose() -> None:
    """Over all 400 tokens the mean is 7.8e-6; in float32 it is 6.1e-6."""
    golden = np.load(PROSE)
    rows = slice(0, POSITIONS)
    model = load(DEFAULT_MODEL, "dispatch", rows=POSITIONS)
    model.forward(golden["tokens"][rows].tolist(), 0, range(POSITIONS))
    found = divergence(golden["ids"][rows], golden["log_probabilities"][rows], model.logits())
    model.close()
    assert found.mean < 1e-4
    assert found.same_top >= 0.97


@pytest.mark.parametrize(
    ("refused", "instead", "kept"),
    [
        ("matmul_matrix.comp", "matmul.comp", "attend_tiles.comp"),
        ("attend_matrices.comp", "attend_tiles.comp", "matmul_matrix.comp"),
    ],
)
def test_a_driver_that_refuses_a_pipeline(
    tmp_path: Path,
    device: RenderingDevice,
    compiled: list[str],
    monkeypatch: pytest.MonkeyPatch,
    refused: str,
    instead: str,
    kept: str,
) -> None:
    """With the kernels of a GPU. Attention by matrices is refused both times: software drivers
    take long to compile it."""
    path = write_tiny_gemma(tmp_path / "tiny.gguf")
    pipeline = RenderingDevice.pipeline
    asked = []

    def refuse(self: RenderingDevice, name: str, glsl: str) -> object:
        asked.append(KERNELS[name].source if name in KERNELS else name)
        if asked[-1] in (refused, "attend_matrices.comp"):
            raise DeviceError(f"refused the pipeline of kernel {name}")
        return pipeline(self, name, glsl)

    monkeypatch.setattr(RenderingDevice, "pipeline", refuse)
    monkeypatch.setattr(device, "is_cpu", False)
    model = load(path, "dispatch")
    expected = logits_of(load(path, "reference"), PROMPT, [61])
    found = logits_of(model, PROMPT, [61])
    tolerance = TOLERANCE if refused == "matmul_matrix.comp" else ROUNDED
    assert np.abs(found - expected).max() < tolerance * np.abs(expected).max()
    assert refused in asked
    assert refused not in compiled
    assert {instead, kept} <= set(compiled)
    model.close()


def test_a_driver_that_refuses_few_columns_keeps_its_tiles(tmp_path: Path) -> None:
    """Not by asking it: what a software driver does with other sizes is its own affair."""
    model = load(write_tiny_gemma(tmp_path / "tiny.gguf"), "dispatch")
    executor = model._executor
    assert isinstance(executor, dispatch.DispatchExecutor)
    tiles = tuple(tile for tile in executor._tiles if tile.takes_parts)
    expected = logits_of(model, PROMPT, [61])
    executor._tiles = (*tiles, *FEW_TILES)
    assert executor._avoid("matmul_few.comp")
    assert executor._tiles == executor._lowering._products._tiles == tiles
    assert np.array_equal(logits_of(model, PROMPT, [61]), expected)
    model.close()


def test_a_driver_without_the_extension_is_not_asked(
    device: RenderingDevice, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert EXTENSION in device.extensions
    monkeypatch.setattr(device, "extensions", device.extensions - {EXTENSION})
    assert not multiplies(device, 8)
    assert not multiplies(device, 32)
    assert compiled == []


def test_other_vendors_are_not_asked_for_the_elements_of_lanes(
    device: RenderingDevice, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "vendor", "another")
    assert not has_fragments(device)
    monkeypatch.setattr(device, "vendor", "NVIDIA")
    monkeypatch.setattr(device, "extensions", device.extensions - {EXTENSION})
    assert not has_fragments(device)
    assert compiled == []


def test_another_interface_has_no_extensions(
    device: RenderingDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(device, "extensions")
    monkeypatch.setattr(rendering_device, "RenderingServer", OtherInterface)
    assert device.extensions == frozenset()


def test_memory_of_the_device(device: RenderingDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Software drivers have that of the machine; nobody says it on another interface."""
    assert 1 << 28 < device.memory < 1 << 50
    monkeypatch.delattr(device, "memory")
    monkeypatch.setattr(rendering_device, "RenderingServer", OtherInterface)
    assert device.memory == 0


class OtherInterface:
    @staticmethod
    def get_current_rendering_driver_name() -> str:
        return "d3d12"


def handles_of(device: RenderingDevice) -> tuple[int, int]:
    """The VkInstance and the VkPhysicalDevice."""
    instance, physical_device = (
        int(device._device.get_driver_resource(kind, godot.RID(), 0))
        for kind in (rendering_device.INSTANCE, rendering_device.PHYSICAL_DEVICE)
    )
    return instance, physical_device


def test_a_wrapped_loader(device: RenderingDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some export nothing but the function that finds all others."""
    real = vulkan._loader()
    assert real is not None
    wrapped = SimpleNamespace(vkGetInstanceProcAddr=real.vkGetInstanceProcAddr)
    monkeypatch.setattr(vulkan, "_loader", lambda: wrapped)
    assert EXTENSION in vulkan.device_extensions(*handles_of(device))


def test_a_loader_that_does_not_know_the_function(device: RenderingDevice) -> None:
    """As without an instance, where only few functions are to be had."""
    assert vulkan.device_extensions(0, handles_of(device)[1]) == frozenset()


def test_without_a_loader(device: RenderingDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vulkan, "LOADERS", ("libnowhere.so.1",))
    assert vulkan.device_extensions(0, 0) == frozenset()
    assert vulkan.device_memory(0, 0) == 0


@pytest.mark.parametrize("few", [(), FEW_TILES], ids=["other lanes", "known lanes"])
def test_usable_tiles(
    device: RenderingDevice, monkeypatch: pytest.MonkeyPatch, few: tuple[FewTile, ...]
) -> None:
    """As on a GPU: what the probe says, asked once."""
    asked = []

    def probe(_: RenderingDevice, size: int) -> bool:
        asked.append(size)
        return True

    monkeypatch.setattr(matrices, "multiplies", probe)
    monkeypatch.setattr(matrices, "has_fragments", lambda _: bool(few))
    monkeypatch.setattr(device, "is_cpu", True)
    assert usable_tiles(device) == ()
    monkeypatch.setattr(device, "is_cpu", False)
    monkeypatch.setattr(matrices, "_found", {})
    tiles = (*MATRIX_TILES, *few)
    expected = [tile for tile in tiles if tile.shared_memory <= device.shared_memory]
    assert list(usable_tiles(device)) == list(usable_tiles(device)) == expected
    assert asked == [32]


def test_prompts_run_in_larger_pieces(
    device: RenderingDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    for is_cpu, tiles, expected in (
        (True, (), CPU_ROWS),
        (False, (), GPU_ROWS),
        (False, MATRIX_TILES, MATRIX_ROWS),
    ):
        monkeypatch.setattr(device, "is_cpu", is_cpu)
        monkeypatch.setattr(matrices, "usable_tiles", lambda _, tiles=tiles: tiles)
        assert choose_executor("dispatch").chunk_rows == expected
