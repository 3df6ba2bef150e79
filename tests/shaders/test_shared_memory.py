"""No kernel asks for more shared memory than every desktop driver has."""

import re

import pytest

from llm.gpu.kernels import FORMAT_IDS, KERNELS
from llm.gpu.matrix_tiles import MATRIX_TILES, SMALL_MATRIX_TILES
from llm.gpu.shader_source import expand

LIMIT = 32 * 1024  # bytes
TYPES = {"float": 4, "uint": 4, "vec2": 8, "vec4": 16, "uvec4": 16}
TILES = {  # of matrices, which only devices with as much use
    tile.kernel(name): tile.shared_memory
    for tile in MATRIX_TILES + SMALL_MATRIX_TILES
    for name in FORMAT_IDS
}
SHARED = re.compile(r"^shared (\w+) \w+((?:\[[^]]+\])*);", re.MULTILINE)
CONSTANT = re.compile(r"^(?:#define (\w+) (\w+)|const uint (\w+) = ([^;]+);)", re.MULTILINE)


def constants(glsl: str) -> dict[str, int]:
    known: dict[str, int] = {}
    for define, number, name, expression in CONSTANT.findall(glsl):
        try:
            known[define or name] = evaluate(number or expression, known)
        except NameError:
            continue  # depends on something that no shared array has to do with
    return known


def evaluate(expression: str, known: dict[str, int]) -> int:
    plain = re.sub(r"\b(\d+|0x[0-9A-Fa-f]+)u\b", r"\1", expression).replace("/", "//")
    return int(eval(plain, {"__builtins__": {}}, known))


@pytest.mark.parametrize("name", KERNELS)
def test_shared_memory(name: str) -> None:
    glsl = expand(name)
    known = constants(glsl)
    size = 0
    for type_name, dimensions in SHARED.findall(glsl):
        elements = 1
        for dimension in re.findall(r"\[([^]]+)\]", dimensions):
            elements *= evaluate(dimension, known)
        size += TYPES[type_name] * elements
    assert size <= TILES.get(name, LIMIT)
    assert len(SHARED.findall(glsl)) == len(re.findall(r"^shared ", glsl, re.MULTILINE))
