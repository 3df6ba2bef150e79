"""What the tests inside the engine share: the process's one GPU device."""

from collections.abc import Iterator

import pytest
from support.kernel_bench import KernelBench

from llm.gpu.rendering_device import close_device, open_device


@pytest.fixture(scope="session", autouse=True)
def device_is_freed() -> Iterator[None]:
    """Whichever test opens the device, it is freed after the last one."""
    yield
    close_device()


@pytest.fixture(scope="session")
def bench() -> Iterator[KernelBench]:
    """Buffers on the engine's device for trying single kernels."""
    device = open_device()
    assert device is not None
    made = KernelBench(device)
    yield made
    made.close()
