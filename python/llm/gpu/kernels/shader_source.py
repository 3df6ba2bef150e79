"""Turns a kernel variant into the plain GLSL text that Godot's compiler takes.

Godot knows no #include of ours and reads sources as ASCII, so includes are put in place here, and
the variant's defines are written at the top. A kernel for one block format has it as FORMAT, and
FORMAT in the name of an include stands for the format's file. A kernel for several has FORMATS, and
`#include_formats` puts a file in once for each, which then is FORMAT; likewise `#include_heads` for
each of HEADS, `#include_experts` for each of EXPERT_ROWS, and `#include_slices` for each of SLICES.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from llm.gpu.kernels.kernel import Kernel
from llm.gpu.kernels.variants import KERNELS

SHADERS = Path(__file__).parents[4] / "shaders"
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

_INCLUDE = re.compile(r'^#include(?:_(formats|heads|experts|slices))? "([^"]+)"$', re.MULTILINE)
_LISTS = {"formats": "FORMATS", "heads": "HEADS", "experts": "EXPERT_ROWS", "slices": "SLICES"}
_SIZES = {
    "experts": ("EXPERT_WIDTH", "EXPERT_HEIGHT"),
    "slices": ("ROW_WIDTH", "FIRST_COLUMN"),
}

Lists = tuple[tuple[str, tuple[str, ...]], ...]  # the entries of each of _LISTS


def expand(name: str) -> str:
    """The GLSL of kernel `name`, complete. KeyError where there is no such kernel."""
    return expand_kernel(KERNELS[name])


def expand_kernel(kernel: Kernel) -> str:
    defines: dict[str, object] = {"GROUP_SIZE": kernel.group_size, **kernel.defines}
    format = str(defines.get("FORMAT", ""))
    if format:
        defines[_test_of(format)] = 1
    lists = tuple((key, tuple(str(defines.get(name, "")).split())) for key, name in _LISTS.items())
    lines = ["#version 450", *(f"#define {key} {value}" for key, value in defines.items())]
    return "\n".join(lines) + "\n\n" + _inline(SHADERS / kernel.source, format, lists)


@cache
def _inline(path: Path, format: str, lists: Lists) -> str:
    """The file's text with its includes in place of their lines, to any depth."""

    def included(found: re.Match[str]) -> str:
        if found[1]:
            entries = dict(lists)[found[1]]
            return "\n".join(_of_entry(INCLUDES / found[2], found[1], it, lists) for it in entries)
        name = found[2].replace("FORMAT", _FILE_OF.get(format, format))
        return _inline(INCLUDES / name, format, lists)

    return _INCLUDE.sub(included, _read(path))


def _read(path: Path) -> str:
    """By what loaded this module: in a game, both lie in one archive."""
    loader: Any = __spec__.loader
    text: bytes = loader.get_data(str(path))
    return text.decode("ascii")


def _of_entry(path: Path, key: str, entry: str, lists: Lists) -> str:
    if key == "heads":
        format, defines = "", {"HEAD_SIZE": entry}
    elif key == "formats":
        format, defines = entry, {"FORMAT": entry, _test_of(entry): "1"}
    else:
        format, *sizes = entry.split(":")
        defines = {"FORMAT": format, _test_of(format): "1", "ROWS": entry.replace(":", "_")}
        defines |= dict(zip(_SIZES[key], sizes, strict=True))
    starts = "".join(f"#define {name} {value}\n" for name, value in defines.items())
    ends = "".join(f"#undef {name}\n" for name in defines)
    return f"{starts}{_inline(path, format, lists)}{ends}"


def _test_of(format: str) -> str:
    return f"IS_{format.upper()}"
