"""Every kernel variant compiles as Godot's compiler targets it, and the result is valid SPIR-V."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.kernel_samples import samples
from support.spirv import compile_kernel
from support.tiny_models import STEP_MODELS

from llm.files.gguf import GgufFile
from llm.gpu.kernels.shader_source import expand, expand_kernel
from llm.gpu.kernels.variants import KERNELS
from llm.gpu.steps.fusion import fuse
from llm.gpu.steps.packing import Grid
from llm.gpu.steps.step_sizes import StepSizes
from llm.models.registry import Limits, make_program

# glslangValidator 12 knows no cooperative matrices; tests/gpu/test_kernels_matrices.py has the
# engine compile those
NAMES = samples(name for name in KERNELS if "GL_KHR_cooperative_matrix" not in expand(name))


@pytest.mark.parametrize("name", NAMES)
def test_compile(name: str, compiled: Callable[[str], Path]) -> None:
    assert compiled(name).exists()


@pytest.mark.parametrize("grid", [Grid(1, 8), Grid(132, 32)], ids=str)
@pytest.mark.parametrize("write", STEP_MODELS.values(), ids=STEP_MODELS)
def test_cases_of_models(tmp_path: Path, write: Callable[[Path], Path], grid: Grid) -> None:
    file = GgufFile.open(str(write(tmp_path / "tiny.gguf")))
    tape = make_program(file, Limits(96, 8, 1)).record(1, 1)
    sizes = StepSizes(tape)
    steps = fuse(tape, sizes.scratch(tape.work_floats))
    cases = list(dict.fromkeys(step.case(grid) for step in steps))
    assert 6 <= len(cases) < len(steps)  # every layer has the same
    kernel = sizes.kernel(grid.subgroup_size, 1 << 20, cases, context=5000, has_integer_dot=True)
    assert kernel is not None
    compile_kernel(expand_kernel(kernel), tmp_path / "steps.spv")
