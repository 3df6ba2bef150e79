"""What Vulkan says of the memory of the device that Godot takes."""

import pytest

from llm.gpu.device import vulkan
from llm.gpu.device.rendering_device import open_device
from llm.gpu.device.vulkan_memory import device_memory


def test_memory_of_godots_device() -> None:
    device = open_device()
    found = device_memory()
    assert device is not None
    assert found is not None
    assert found.device in device.name or device.name in found.device
    assert found.is_cpu == device.is_cpu
    assert found.total > 1 << 28
    assert found.free is None or 0 <= found.free <= found.total


def test_a_machine_without_vulkan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vulkan, "_loader", lambda: None)
    assert device_memory() is None
