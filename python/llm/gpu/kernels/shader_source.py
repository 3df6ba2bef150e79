"""Turns a kernel variant into the plain GLSL text that Godot's compiler takes.

Godot knows no #include of ours and reads sources as ASCII, so includes are put in place here, and
the variant's defines are written at the top. A kernel for one block format has it as FORMAT, and
FORMAT in the name of an include stands for the format's file; a kernel for several has FORMATS, and
`#include_formats` puts a file in once for each, which then is FORMAT.
"""

import re
from functools import cache
from pathlib import Path

from llm.gpu.kernels.kernel import Kernel
from llm.gpu.kernels.variants import KERNELS

SHADERS = Path(__file__).resolve().parents[4] / "shaders"
INCLUDES = SHADERS / "include"

FORMAT_FILES = {  # formats that share a file, which tells them apart by IS_Q4_0 and so on
    "floats": ("f32", "f16", "bf16"),
    "nibbles": ("q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl", "mxfp4"),
    "groups": ("q4_k", "q5_k"),
    "two_bits": ("q2_k", "q3_k", "tq2_0"),
    "iq1": ("iq1_s", "iq1_m"),
    "iq2": ("iq2_xxs", "iq2_xs", "iq2_s"),
    "iq3": ("iq3_xxs", "iq3_s"),
}
_FILE_OF = {name: file for file, names in FORMAT_FILES.items() for name in names}

_INCLUDE = re.compile(r'^#include(_formats)? "([^"]+)"$', re.MULTILINE)


def expand(name: str) -> str:
    """The GLSL of kernel `name`, complete. KeyError where there is no such kernel."""
    return expand_kernel(KERNELS[name])


def expand_kernel(kernel: Kernel) -> str:
    defines: dict[str, object] = {"GROUP_SIZE": kernel.group_size, **kernel.defines}
    format = str(defines.get("FORMAT", ""))
    if format:
        defines[_test_of(format)] = 1
    formats = tuple(str(defines.get("FORMATS", "")).split())
    lines = ["#version 450", *(f"#define {key} {value}" for key, value in defines.items())]
    return "\n".join(lines) + "\n\n" + _inline(SHADERS / kernel.source, format, formats)


@cache
def _inline(path: Path, format: str, formats: tuple[str, ...]) -> str:
    """The file's text with its includes in place of their lines, to any depth."""

    def included(found: re.Match[str]) -> str:
        if found[1]:
            return "\n".join(_of_format(INCLUDES / found[2], each) for each in formats)
        name = found[2].replace("FORMAT", _FILE_OF.get(format, format))
        return _inline(INCLUDES / name, format, formats)

    return _INCLUDE.sub(included, path.read_text(encoding="ascii"))


def _of_format(path: Path, format: str) -> str:
    test = _test_of(format)
    text = _inline(path, format, ())
    return f"#define FORMAT {format}\n#define {test} 1\n{text}#undef FORMAT\n#undef {test}\n"


def _test_of(format: str) -> str:
    return f"IS_{format.upper()}"
