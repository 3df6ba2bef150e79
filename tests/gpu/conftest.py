"""What the tests inside the engine share: the process's one GPU device, and exact products."""

from collections.abc import Iterator

import pytest
from support.kernel_bench import KernelBench

from llm.gpu.device.rendering_device import close_device, open_device
from llm.gpu.dispatch import executor as dispatch


@pytest.fixture(scope="session", autouse=True)
def device_is_freed() -> Iterator[None]:
    """Whichever test opens the device, it is freed after the last one."""
    yield
    close_device()


@pytest.fixture(scope="session", autouse=True)
def products_are_exact() -> Iterator[None]:
    """On a GPU, too: what float16 does to random weights is test_matrices.py's business."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "usable_tiles", lambda _: ())
        yield


@pytest.fixture(scope="session")
def bench() -> Iterator[KernelBench]:
    """Buffers on the engine's device for trying single kernels."""
    device = open_device()
    assert device is not None
    made = KernelBench(device)
    yield made
    made.close()
