"""What the GLSL of a kernel declares: constants, by evaluating them, and shared memory."""

import re

TYPES = {"float": 4, "uint": 4, "vec2": 8, "vec4": 16, "uvec4": 16}  # bytes
SHARED = re.compile(r"^shared (\w+) \w+((?:\[[^]]+\])*);", re.MULTILINE)
CONSTANT = re.compile(r"^(?:#define (\w+) (\d+)|const uint (\w+) = ([^;]+);)", re.MULTILINE)
FUNCTIONS = {"min": min, "max": max, "uint": int}


def constants(glsl: str) -> dict[str, int]:
    """Numbers that an expanded kernel defines, or has as global `const uint`, in their order."""
    known: dict[str, int] = {}
    for define, number, name, expression in CONSTANT.findall(glsl):
        try:
            known[define or name] = evaluate(number or expression, known)
        except NameError:
            continue  # depends on something that is not a number
    return known


def shared_bytes(glsl: str) -> int:
    """Bytes of all shared variables of an expanded kernel."""
    if "#define EXPERTS" not in glsl:
        glsl = without_block(glsl, "#ifdef EXPERTS")
    declared = SHARED.findall(glsl)
    assert len(declared) == len(re.findall(r"^shared ", glsl, re.MULTILINE))
    known = constants(glsl)
    size = 0
    for type_name, dimensions in declared:
        elements = 1
        for dimension in re.findall(r"\[([^]]+)\]", dimensions):
            elements *= evaluate(dimension, known)
        size += TYPES[type_name] * elements
    return size


def without_block(glsl: str, start: str) -> str:
    """Without what stands between such lines and their #endif."""
    kept, depth = [], 0
    for line in glsl.splitlines():
        if depth:
            depth += line.startswith("#if") - line.startswith("#endif")
        elif line == start:
            depth = 1
        else:
            kept.append(line)
    return "\n".join(kept)


def evaluate(expression: str, known: dict[str, int]) -> int:
    plain = re.sub(r"\b(\d+|0x[0-9A-Fa-f]+)u\b", r"\1", expression).replace("/", "//")
    return int(eval(f"({plain})", {"__builtins__": {}}, {**FUNCTIONS, **known}))
