"""What all steps of the steps kernel have in common: their words, and who runs them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from llm.gpu.operations import Tensor, Weight
from llm.gpu.state import NONE

STEP_WORDS = 64
SUBGROUPS = 16  # of a group

Words = NDArray[np.uint32]
Locate = Callable[[Weight], Sequence[int]]  # a weight -> the device addresses of its planes


@dataclass(frozen=True, slots=True)
class Grid:
    """The groups that share a step, and the threads of their subgroups (a power of two)."""

    groups: int
    subgroup_size: int


def plane_addresses(weight: Weight, locate: Locate) -> Words:
    """Four addresses of two words each, 0 where the format has fewer planes."""
    addresses = (*locate(weight), 0, 0, 0)[:4]
    return np.array(addresses, np.uint64).view(np.uint32)


def vector_address(weight: Weight | None, locate: Locate) -> tuple[int, int]:
    """The two words of the address of a weight with one plane; 0 where there is none."""
    address = 0 if weight is None else locate(weight)[0]
    return address & 0xFFFFFFFF, address >> 32


def offset_of(tensor: Tensor | None) -> int:
    """The float of the work buffer where it begins, or NONE."""
    return NONE if tensor is None else tensor.offset


def literal(flag: bool) -> str:
    """As GLSL has it."""
    return str(flag).lower()


def float_bits(value: float) -> int:
    """The word that holds a float32."""
    return int(np.float32(value).view(np.uint32))


def glsl_float(value: float) -> str:
    """A literal of it."""
    return repr(float(value))


def ceil_div(value: int, divisor: int) -> int:
    """The quotient, rounded up."""
    return -(-value // divisor)
