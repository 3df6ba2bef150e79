"""Kernels as SPIR-V: compiling them, and what a module asks of a device."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import numpy as np

TARGET = "vulkan1.1"  # what Godot's compiler targets
HEADER_WORDS = 5


class Op(IntEnum):
    """Instructions, by the numbers of the SPIR-V specification, as all that follow."""

    EXTENSION = 10
    EXECUTION_MODE = 16
    CAPABILITY = 17
    BOOL = 20
    INT = 21
    FLOAT = 22
    VECTOR = 23
    ARRAY = 28
    OPEN_ARRAY = 29  # the last member of a buffer
    STRUCT = 30
    POINTER = 32
    CONSTANT = 43
    VARIABLE = 59
    MEMBER_DECORATE = 72


class Storage(IntEnum):
    """Where a variable lies."""

    WORKGROUP = 4
    PUSH_CONSTANT = 9
    BUFFER = 12


SHADER = 1  # the capability that every kernel has
LOCAL_SIZE = 17  # an execution mode
OFFSET = 35  # a decoration


def run(*command: str | Path) -> str:
    """What a program prints; it has to end well, and to complain of nothing."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stderr == "", words[0]
    assert done.returncode == 0, f"{words[0]}: {done.stdout}"
    return done.stdout


def compile_kernel(glsl: str, module: Path) -> Path:
    """Writes the `module` and validates it; warnings count as errors."""
    source = module.with_suffix(".comp")
    source.write_text(glsl, encoding="ascii")
    compiler = ("glslangValidator", "--quiet", "-V", "--target-env", TARGET)
    assert run(*compiler, "-o", module, source) == ""
    assert run("spirv-val", "--target-env", TARGET, module) == ""
    return module


@dataclass(slots=True)
class Needs:
    """What a module asks of a device; sizes in bytes."""

    capabilities: set[int] = field(default_factory=set)
    extensions: int = 0
    threads: int = 0  # of a group
    shared: int = 0
    push_constants: int = 0
    storage_buffers: int = 0


def needs(module: Path) -> Needs:
    """Reads the words of a module that has no images, matrices or nested constants."""
    found = Needs()
    sizes: dict[int, int] = {}  # of types
    targets: dict[int, int] = {}  # of pointers
    constants: dict[int, int] = {}
    ends: dict[int, int] = {}  # of structs in buffers: the offsets of their last members
    for operation, words in _instructions(module):
        match operation, words:
            case Op.CAPABILITY, [capability]:
                found.capabilities.add(capability)
            case Op.EXTENSION, _:
                found.extensions += 1
            case Op.EXECUTION_MODE, [_, mode, x, y, z] if mode == LOCAL_SIZE:
                found.threads = x * y * z
            case Op.MEMBER_DECORATE, [struct, _, decoration, offset] if decoration == OFFSET:
                ends[struct] = max(offset, ends.get(struct, 0))
            case Op.BOOL, [made]:
                sizes[made] = 4
            case ((Op.INT | Op.FLOAT), [made, bits, *_]):
                sizes[made] = bits // 8
            case Op.CONSTANT, [_, made, value, *_]:
                constants[made] = value
            case Op.VECTOR, [made, element, count]:
                sizes[made] = count * sizes[element]
            case Op.ARRAY, [made, element, count]:
                sizes[made] = constants[count] * sizes[element]
            case Op.OPEN_ARRAY, [made, _]:
                sizes[made] = 0
            case Op.STRUCT, [made, *members]:
                start = ends.get(made, sum(sizes[member] for member in members[:-1]))
                sizes[made] = start + sizes[members[-1]]
            case Op.POINTER, [made, _, target]:
                targets[made] = target
            case Op.VARIABLE, [pointer, _, storage, *_]:
                size = sizes[targets[pointer]]
                found.shared += size * (storage == Storage.WORKGROUP)
                found.push_constants += size * (storage == Storage.PUSH_CONSTANT)
                found.storage_buffers += storage == Storage.BUFFER
    return found


def _instructions(module: Path) -> Iterator[tuple[int, list[int]]]:
    """Number and operands of each."""
    words = np.fromfile(module, np.uint32).tolist()
    at = HEADER_WORDS
    while at < len(words):
        length = words[at] >> 16
        yield words[at] & 0xFFFF, words[at + 1 : at + length]
        at += length
