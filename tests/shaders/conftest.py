"""Kernels compiled once for all tests."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from support.spirv import compile_kernel

from llm.gpu.kernels.shader_source import expand


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`compiled(name)`: the SPIR-V module of a kernel."""
    folder = tmp_path_factory.mktemp("modules")
    return cache(lambda name: compile_kernel(expand(name), folder / f"{name}.spv"))
