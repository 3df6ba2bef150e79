"""Gemma 3: see tiny_gemma.py."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from gguf import GGMLQuantizationType as Type
from support.tiny_gemma import MIXED, write_tiny_gemma

CASES: dict[str, Callable[[Path], Path]] = {
    "windows": partial(write_tiny_gemma, formats=dict.fromkeys(MIXED, Type.F32)),
}
