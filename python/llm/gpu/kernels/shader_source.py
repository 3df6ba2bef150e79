"""Turns a kernel variant into the plain GLSL text that Godot's compiler takes.

Godot knows no #include of ours and reads sources as ASCII, so includes are put in place here, and
the variant's defines are written at the top.
"""

import re
from functools import cache
from pathlib import Path

from llm.gpu.kernels.kernel import Kernel
from llm.gpu.kernels.variants import KERNELS

SHADERS = Path(__file__).resolve().parents[4] / "shaders"
INCLUDES = SHADERS / "include"

_INCLUDE = re.compile(r'^#include "([^"]+)"$', re.MULTILINE)


def expand(name: str) -> str:
    """The GLSL of kernel `name`, complete. KeyError where there is no such kernel."""
    return expand_kernel(KERNELS[name])


def expand_kernel(kernel: Kernel) -> str:
    defines = {"GROUP_SIZE": kernel.group_size, **kernel.defines}
    lines = ["#version 450", *(f"#define {key} {value}" for key, value in defines.items())]
    return "\n".join(lines) + "\n\n" + _inline(SHADERS / kernel.source)


@cache
def _inline(path: Path) -> str:
    """The file's text with its includes in place of their lines, to any depth."""
    text = path.read_text(encoding="ascii")
    return _INCLUDE.sub(lambda found: _inline(INCLUDES / found[1]), text)
