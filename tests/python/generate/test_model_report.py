"""Whether a model fits is judged by what a load of itself would use."""

from pathlib import Path

import pytest
from support.sample_gguf import gemma_shaped, rich

from llm.generate.model_report import Machine, read_report, shown
from llm.gpu.device.vulkan_memory import DeviceMemory

TAKES = 159 << 20  # bytes on a GPU, and on numpy about 460 MiB


@pytest.fixture(scope="module")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> str:
    return gemma_shaped(1_000).write(tmp_path_factory.mktemp("models") / "gemma.gguf")


@pytest.mark.parametrize(
    ("gpu", "ram", "fits"),
    [
        (DeviceMemory("A card", False, TAKES, None), 0, True),
        (DeviceMemory("A card", False, TAKES, TAKES // 2), 8 << 30, False),
        (DeviceMemory("llvmpipe", True, 0, None), TAKES, True),
        (DeviceMemory("llvmpipe", True, 0, None), None, None),
        (None, TAKES, False),
        (None, 1 << 30, True),
        (None, None, None),
    ],
)
def test_whether_it_fits(
    gemma: str, gpu: DeviceMemory | None, ram: int | None, fits: bool | None
) -> None:
    assert read_report(gemma, 4096, "", Machine(gpu, ram)).fits is fits


def test_of_what_does_not_run_nothing_is_known(tmp_path: Path) -> None:
    path = rich().write(tmp_path / "rich.gguf")
    gpu = DeviceMemory("A card", False, 1 << 40, None)
    assert read_report(path, 4096, "", Machine(gpu, 1 << 40)).fits is None


def test_values_for_people() -> None:
    assert [shown(value) for value in (None, 32768, "a\nb")] == ["not given", "32,768", "a\\nb"]
