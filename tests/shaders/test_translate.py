"""Baseline kernels ask for nothing that D3D12 or Metal lack, and translate to their languages.

Godot translates to Metal's language with SPIRV-Cross, as here. For D3D12 it makes DXIL with Mesa's
spirv_to_dxil; there is no packaged program that does so, so HLSL stands in for it here.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.kernel_samples import is_baseline, samples
from support.spirv import SHADER, Needs, compile_kernel, needs, run

from llm.gpu.kernels.kernel import PUSH_CONSTANT_LIMIT
from llm.gpu.kernels.variants import KERNELS

NAMES = samples(filter(is_baseline, KERNELS))
SHARED_LIMIT = 32 * 1024  # bytes; D3D12 and every Apple GPU
THREAD_LIMIT = 256
BUFFER_LIMIT = 8  # D3D12's smallest tier has as many that are written to
SHADER_MODEL = "60"
METAL_VERSION = "20100"

GROUP_NON_UNIFORM, INT_64 = 61, 11  # capabilities
DEMANDING = """#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_ARB_gpu_shader_int64 : require
layout(local_size_x = 16, local_size_y = 20) in;
layout(push_constant) uniform Params { uvec4 some; uint other; };
layout(std430, binding = 0) readonly buffer First { uvec4 first[]; };
layout(std430, binding = 1) buffer Second { uint second[]; };
struct Cell { float value; uvec2 place; bool known; };
shared Cell cells[3][5];
shared vec4 tile[7];
void main() {
	const uint i = gl_LocalInvocationIndex % 3u;
	cells[i][other % 5u] = Cell(1.0, some.xy, subgroupElect());
	tile[i] = vec4(cells[0][1].value);
	barrier();
	second[i] = first[i].x + uint(uint64_t(tile[2].x) >> 33u);
}
"""

Compiled = Callable[[str], Path]


def test_needs_of_a_demanding_kernel(tmp_path: Path) -> None:
    assert needs(compile_kernel(DEMANDING, tmp_path / "demanding.spv")) == Needs(
        capabilities={SHADER, GROUP_NON_UNIFORM, INT_64},
        threads=320,
        shared=3 * 5 * 16 + 7 * 16,
        push_constants=20,
        storage_buffers=2,
    )


@pytest.mark.parametrize("name", NAMES)
def test_needs(name: str, compiled: Compiled) -> None:
    """All else would be capabilities: addresses, matrices, subgroups, numbers not of 32 bits."""
    found = needs(compiled(name))
    assert found.capabilities == {SHADER}
    assert found.extensions == 0
    assert 0 < found.threads <= THREAD_LIMIT
    assert found.shared <= SHARED_LIMIT
    assert found.push_constants <= PUSH_CONSTANT_LIMIT
    assert found.storage_buffers <= BUFFER_LIMIT


@pytest.mark.parametrize("name", NAMES)
def test_hlsl(name: str, compiled: Compiled, tmp_path: Path) -> None:
    """SPIRV-Cross writes what it cannot translate as a call of a function that there is not; so
    the text is compiled once more."""
    hlsl = tmp_path / "kernel.hlsl"
    translator = ("spirv-cross", "--hlsl", "--shader-model", SHADER_MODEL)
    hlsl.write_text(run(*translator, compiled(name)), encoding="ascii")
    compiler = ("glslangValidator", "--quiet", "-D", "-V", "-S", "comp", "-e", "main")
    assert run(*compiler, "-o", tmp_path / "kernel.spv", hlsl) == ""


@pytest.mark.parametrize("name", NAMES)
def test_metal(name: str, compiled: Compiled) -> None:
    text = run("spirv-cross", "--msl", "--msl-version", METAL_VERSION, compiled(name))
    assert "kernel void main0(" in text
