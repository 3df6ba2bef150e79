"""Which Vulkan driver the engine gets."""

from pathlib import Path

import pytest

from setup.vulkan import driver_environment, has_gpu

LAVAPIPE = Path("lvp_icd.json")


@pytest.mark.parametrize(
    ("manifests", "nodes", "expected"),
    [
        pytest.param(["radeon_icd.x86_64.json"], ["renderD128"], True, id="Mesa with a card"),
        pytest.param(["radeon_icd.x86_64.json"], ["tty"], False, id="Mesa without a card"),
        pytest.param(["nvidia_icd.json"], ["nvidia0", "nvidiactl"], True, id="NVIDIA"),
        pytest.param(["nvidia_icd.json"], ["renderD128"], False, id="NVIDIA's driver, other card"),
        pytest.param(["lvp_icd.x86_64.json"], ["renderD128"], False, id="software is no GPU"),
        pytest.param(["dzn_icd.json"], ["dxg"], True, id="WSL"),
        pytest.param([], ["renderD128"], False, id="a card without a driver"),
        pytest.param([], [], False, id="nothing"),
    ],
)
def test_has_gpu(manifests: list[str], nodes: list[str], expected: bool) -> None:
    assert has_gpu(manifests, nodes) is expected


@pytest.mark.parametrize(
    ("environment", "software", "gpu", "expected"),
    [
        pytest.param({}, LAVAPIPE, False, {"VK_DRIVER_FILES": "lvp_icd.json"}, id="no GPU"),
        pytest.param(
            {}, LAVAPIPE, True, {"VK_ADD_DRIVER_FILES": "lvp_icd.json"}, id="beside the GPU"
        ),
        pytest.param({"VK_DRIVER_FILES": "mine"}, LAVAPIPE, False, {}, id="the user's choice"),
        pytest.param({"VK_ICD_FILENAMES": "mine"}, LAVAPIPE, False, {}, id="by its old name"),
        pytest.param(
            {"VK_DRIVER_FILES": ""},
            LAVAPIPE,
            False,
            {"VK_DRIVER_FILES": "lvp_icd.json"},
            id="an empty variable is no choice",
        ),
        pytest.param({}, None, False, {}, id="the user's engine cannot load the private driver"),
    ],
)
def test_driver_environment(
    environment: dict[str, str], software: Path | None, gpu: bool, expected: dict[str, str]
) -> None:
    assert driver_environment(environment, software, gpu) == expected
