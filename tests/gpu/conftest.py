"""What the tests of kernels share."""

from collections.abc import Iterator

import pytest
from support.kernel_bench import KernelBench

from llm.gpu.rendering_device import open_device


@pytest.fixture(scope="session")
def bench() -> Iterator[KernelBench]:
    """Buffers on the engine's device for trying single kernels."""
    device = open_device()
    assert device is not None
    made = KernelBench(device)
    yield made
    made.close()
