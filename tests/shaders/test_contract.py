"""What GLSL declares is what Python packs, and each file keeps the rules of shaders/README.md."""

import re
import struct
from pathlib import Path

import numpy as np
import pytest
from support.kernel_samples import PROBED

from llm.gpu import sampler, state
from llm.gpu.kernels.kernel import PUSH_CONSTANT_LIMIT
from llm.gpu.kernels.resident import SAMPLE_RESIDENT
from llm.gpu.kernels.shader_source import INCLUDES, SHADERS, expand
from llm.gpu.kernels.variants import KERNELS

PADS = ("pad_1", "pad_2", "pad_3")  # not an array: HLSL would give each element 16 bytes
CODES = {"uvec4": "4I", "uvec2": "2I", "uint": "I", "float": "f"}
SOURCES = sorted(path.name for path in SHADERS.glob("*.comp"))
TEMPLATES = (
    "attend_heads.glslh",
    "block_pairs.glslh",
    "column_tiles.glslh",
    "head_cells.glslh",
    "head_rotation.glslh",
    "step_attend_heads.glslh",
    "step_attend_parts.glslh",
    "step_embed.glslh",
    "step_some_rows.glslh",
    "step_float_rows.glslh",
    "step_format.glslh",
    "step_heads.glslh",
    "step_matrix.glslh",
    "step_rows.glslh",
    "weight_fragments.glslh",
    "weight_parts.glslh",
)  # included several times
FILES = sorted([*SHADERS.glob("*.comp"), *INCLUDES.glob("*.glslh")])


def params_block(name: str) -> str:
    """Of a kernel with two blocks, the first is for experts."""
    found = re.findall(r"uniform Params \{(.*?)\n\}", expand(name), re.DOTALL)
    assert 1 <= len(found) <= 2
    return re.sub(r"//.*", "", found[0 if "EXPERTS" in KERNELS[name].defines else -1])


@pytest.mark.parametrize("name", KERNELS)
def test_params(name: str) -> None:
    if not KERNELS[name].params:
        assert "push_constant" not in expand(name)
        return
    fields = re.findall(r"^\s*(\w+) (\w+);\s*$", params_block(name), re.MULTILINE)
    declared = {field: CODES[type_name] for type_name, field in fields if field not in PADS}
    padding = sum(4 for _, field in fields if field in PADS)
    kernel = KERNELS[name]
    assert declared == kernel.params
    assert list(declared) == list(kernel.params)
    size = struct.calcsize("<" + "".join(declared.values())) + padding
    assert size == struct.calcsize(kernel.struct_format)
    assert size <= PUSH_CONSTANT_LIMIT
    assert size % 16 == 0


@pytest.mark.parametrize("name", KERNELS)
def test_defines(name: str) -> None:
    kernel = KERNELS[name]
    header = (SHADERS / kernel.source).read_text(encoding="ascii").split("\n\n#include")[0]
    documented = set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", header.split("// Defines", 1)[1]))
    assert {"GROUP_SIZE", *kernel.defines} <= documented


@pytest.mark.parametrize("name", SAMPLE_RESIDENT)
def test_groups_see_cells_that_others_store(name: str) -> None:
    """Or a multiprocessor gives what it read beside them, before they were there."""
    views = re.findall(r"std430\) SHARED_(\w+) buffer Cache", expand(name))
    assert views == ["BUFFER", "CELLS"]
    for view in views:
        assert re.search(rf"^#define SHARED_{view} coherent", expand(name), re.MULTILINE)


@pytest.mark.parametrize("name", KERNELS)
def test_group(name: str) -> None:
    kernel = KERNELS[name]
    glsl = expand(name)
    assert kernel.group_size <= (512 if name.startswith(PROBED) else 256)
    assert "layout(local_size_x = GROUP_SIZE) in;" in glsl
    assert ("subgroup" in glsl.lower()) == name.startswith(PROBED)


def test_state_words() -> None:
    glsl = (INCLUDES / "state.glslh").read_text(encoding="ascii")
    declared = {name: int(value) for name, value in re.findall(r"const uint (\w+) = (\d+)u;", glsl)}
    python = {
        name if name.startswith(("MAX_", "ALL_")) else f"STATE_{name}": value
        for name, value in vars(state).items()
        if name.isupper() and name not in ("NONE", "STATE_WORDS")
    }
    assert declared == python
    bindings = (INCLUDES / "bindings.glslh").read_text(encoding="ascii")
    assert f"const uint NONE = 0x{state.NONE:X}u;" in bindings


def test_state_regions_do_not_overlap() -> None:
    sizes = {
        state.SEED: 2,
        state.DECODED: 1,
        state.TOKENS: state.MAX_ROWS,
        state.POSITIONS: state.MAX_ROWS,
        state.OUTPUT_ROWS: state.MAX_ROWS,
        state.TABLES: state.MAX_ROWS,
        state.STOP_IDS: state.MAX_STOPS,
        state.DRAWN: state.MAX_DRAW_ROWS * state.MAX_DRAW_RUNS,
        state.DRAWS: state.MAX_DRAW_ROWS * state.MAX_DRAW_WORDS,
        state.ADJUSTED: 1,
        state.ADJUSTED_IDS: state.MAX_ADJUSTED,
        state.REPEATS: state.MAX_ADJUSTED,
        state.LOSSES: state.MAX_ADJUSTED,
        state.PICK_IDS: state.ALL_PICKS,
        state.PICK_VALUES: state.ALL_PICKS,
    }
    end = state.MIN_P + 1
    for start, size in sorted(sizes.items()):
        assert start >= end
        end = start + size
    assert end == state.STATE_WORDS


def test_sizes_of_a_draw() -> None:
    glsl = (INCLUDES / "step_sample_list.glslh").read_text(encoding="ascii")
    sizes = dict(re.findall(r"const uint (SAMPLE_\w+) = (\d+)u;", glsl))
    assert int(sizes["SAMPLE_MOST"]) == sampler.MOST_ON_DEVICE
    assert int(sizes["SAMPLE_LISTED"]) == sampler.LISTED
    assert KERNELS["draw"].group_size == sampler.MOST_ON_DEVICE
    draw = (INCLUDES / "sample_weight.glslh").read_text(encoding="ascii")
    series = re.findall(r"(?:float total =|part \+) (\S+);", draw)
    assert [np.float32(term) for term in reversed(series)] == sampler.SERIES


def test_every_source_has_a_kernel() -> None:
    assert sorted({kernel.source for kernel in KERNELS.values()}) == SOURCES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_style(path: Path) -> None:
    text = path.read_text(encoding="ascii")
    assert text.endswith("\n")
    is_template = path.name in TEMPLATES or path.name.startswith("dequant_")
    is_guarded = path.suffix == ".glslh" and not is_template
    assert text.startswith("#ifndef " if is_guarded else "// ")
    assert "#version" not in text
    included = [line for line in text.splitlines() if line.lstrip().startswith("#include")]
    for line in included:
        assert re.fullmatch(r'#include(_formats|_heads|_experts|_slices)? "\w+\.glslh"', line)


@pytest.mark.parametrize("name", KERNELS)
def test_bindings(name: str) -> None:
    """One uniform set serves every pipeline only if all declare the same."""
    found = re.findall(r"binding = (\d), std430\) (readonly )?(?:SHARED_\w+ )?buffer", expand(name))
    weights, others = found[:2], found[2:8]
    assert [(binding, bool(readonly)) for binding, readonly in weights] == [
        ("0", True),
        ("1", True),
    ]
    assert [(binding, bool(readonly)) for binding, readonly in others] == [
        (str(binding), False) for binding in range(2, 8)
    ]
    assert found[8:] == ([("8", "readonly ")] if name in SAMPLE_RESIDENT else [])
