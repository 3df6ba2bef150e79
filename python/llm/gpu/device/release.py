"""Freeing the GPU device without importing what uses it: where nothing did, there is none."""

import sys


def release_device() -> None:
    """Frees this process's device, if there is one. Called by the thread that made it."""
    module = sys.modules.get("llm.gpu.device.rendering_device")
    if module is not None:
        module.close_device()
