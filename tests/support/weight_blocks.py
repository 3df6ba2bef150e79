"""Blocks of weights as a model file stores them, with what they stand for."""

from collections.abc import Callable

import gguf
import numpy as np
from gguf import GGMLQuantizationType, quants
from numpy.typing import NDArray

from llm.files.formats import FORMATS, BlockFormat

BY_NAME = {block_format.name: block_format for block_format in FORMATS.values()}
HALVES = {  # format -> offset in bytes of each float16 of a block
    "q8_0": (0,),
    "q5_0": (0,),
    "q4_k": (0, 2),
    "q6_k": (208,),
}

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


def random_blocks(name: str, rows: int, columns: int, source: np.random.Generator) -> Bytes:
    """Every bit random but the scales, which give weights of about 1 at most; (rows, bytes)."""
    if name in ("f32", "f16"):
        kind = np.float32 if name == "f32" else np.float16
        return source.standard_normal((rows, columns)).astype(kind).view(np.uint8)
    blocks = _raw(
        BY_NAME[name], rows, columns, lambda size: source.integers(0, 256, size, np.uint8)
    )
    for offset in HALVES[name]:
        scale = source.uniform(-0.01, 0.01, len(blocks)).astype(np.float16)
        blocks[:, offset : offset + 2] = scale[:, None].view(np.uint8)
    return blocks.reshape(rows, -1)


def constant_blocks(name: str, rows: int, columns: int, byte: int, half: float) -> Bytes:
    """Every byte of a block the same but the scales, which are all `half`; (rows, bytes)."""
    blocks = _raw(BY_NAME[name], rows, columns, lambda size: np.full(size, byte, np.uint8))
    for offset in HALVES[name]:
        blocks[:, offset : offset + 2] = np.array([half], np.float16).view(np.uint8)
    return blocks.reshape(rows, -1)


def expand(name: str, blocks: Bytes) -> Floats:
    """What the gguf package says that the blocks stand for, (rows, columns)."""
    return quants.dequantize(blocks, GGMLQuantizationType(BY_NAME[name].id)).astype(np.float32)


def _raw(
    block_format: BlockFormat,
    rows: int,
    columns: int,
    make: Callable[[tuple[int, int]], Bytes],
) -> Bytes:
    assert gguf.GGML_QUANT_SIZES[GGMLQuantizationType(block_format.id)][1] == block_format.bytes
    return make((rows * columns // block_format.values, block_format.bytes))
