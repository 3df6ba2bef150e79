"""Every kernel variant compiles as Godot's compiler targets it, and the result is valid SPIR-V."""

import subprocess
from pathlib import Path

import pytest

from llm.gpu.kernels import KERNELS
from llm.gpu.shader_source import expand

TARGET = "vulkan1.1"
# glslangValidator 12 knows no cooperative matrices; tests/gpu/test_kernels_matrices.py has the
# engine compile those
NAMES = [name for name in KERNELS if "GL_KHR_cooperative_matrix" not in expand(name)]


@pytest.mark.parametrize("name", NAMES)
def test_compile(name: str, tmp_path: Path) -> None:
    source, module = tmp_path / f"{name}.comp", tmp_path / f"{name}.spv"
    source.write_text(expand(name), encoding="ascii")
    compiler = ["glslangValidator", "--quiet", "-V", "--target-env", TARGET, "-o", str(module)]
    compiled = subprocess.run([*compiler, str(source)], capture_output=True, text=True, check=False)
    assert compiled.stdout + compiled.stderr == ""  # warnings, too
    assert compiled.returncode == 0
    validator = ["spirv-val", "--target-env", TARGET, str(module)]
    validated = subprocess.run(validator, capture_output=True, text=True, check=False)
    assert validated.stdout + validated.stderr == ""
    assert validated.returncode == 0
