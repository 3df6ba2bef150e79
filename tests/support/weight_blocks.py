"""Blocks of weights as a model file stores them, with what they stand for."""

from collections.abc import Callable

import gguf
import numpy as np
from gguf import GGMLQuantizationType, quants
from numpy.typing import NDArray

from llm.files.formats import FORMATS, BlockFormat
from llm.files.repack import PLANES

BY_NAME = {block_format.name: block_format for block_format in FORMATS.values()}
HALVES = {  # format -> offset in bytes of each float16 of a block
    "q8_0": (0,),
    "q4_0": (0,),
    "q4_1": (0, 2),
    "q5_0": (0,),
    "q5_1": (0, 2),
    "iq4_nl": (0,),
    "q2_k": (80, 82),
    "q3_k": (108,),
    "q4_k": (0, 2),
    "q5_k": (0, 2),
    "q6_k": (208,),
    "iq4_xs": (0,),
    "iq2_xxs": (0,),
    "iq2_xs": (0,),
    "iq2_s": (0,),
    "iq3_xxs": (0,),
    "iq3_s": (0,),
    "iq1_s": (0,),
    "tq1_0": (52,),
    "tq2_0": (64,),
}
FLOATS = ("f32", "f16", "bf16")
QUANTS = tuple(name for name in PLANES if name not in FLOATS)
HALF_SCALED = (*HALVES, "iq1_m")  # whose scale may be NaN
NARROW = tuple(name for name in PLANES if BY_NAME[name].values <= 32)  # for rows of any 32

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Halves = NDArray[np.float16]


def random_blocks(name: str, rows: int, columns: int, source: np.random.Generator) -> Bytes:
    """Every bit random but the scales, which give weights of about 1 at most; (rows, bytes)."""
    if name == "bf16":
        return quants.quantize(
            source.standard_normal((rows, columns), np.float32), GGMLQuantizationType.BF16
        )
    if name in FLOATS:
        kind = np.float32 if name == "f32" else np.float16
        return source.standard_normal((rows, columns)).astype(kind).view(np.uint8)
    blocks = _raw(
        BY_NAME[name], rows, columns, lambda size: source.integers(0, 256, size, np.uint8)
    )
    put_scales(name, blocks, lambda _: source.uniform(-0.01, 0.01, len(blocks)).astype(np.float16))
    return blocks.reshape(rows, -1)


def constant_blocks(name: str, rows: int, columns: int, byte: int, half: float) -> Bytes:
    """Every byte of a block the same but the scales, which are all `half`; (rows, bytes)."""
    blocks = _raw(BY_NAME[name], rows, columns, lambda size: np.full(size, byte, np.uint8))
    put_scales(name, blocks, lambda _: np.full(len(blocks), half, np.float16))
    return blocks.reshape(rows, -1)


def expand(name: str, blocks: Bytes) -> Floats:
    """What the gguf package says that the blocks stand for, (rows, columns)."""
    return quants.dequantize(blocks, GGMLQuantizationType(BY_NAME[name].id)).astype(np.float32)


def put_scales(name: str, blocks: Bytes, make: Callable[[int], Halves]) -> None:
    """One for each block, as the format stores it: `make` gives those of float16 number 0, 1.

    Those of nvfp4 stay, as any byte is one.
    """
    for number, offset in enumerate(HALVES.get(name, ())):
        blocks[:, offset : offset + 2] = make(number)[:, None].view(np.uint8)
    if name == "mxfp4":  # a power of two
        exponents = 127 + np.frexp(make(0))[1]
        blocks[:, 0] = np.where(exponents == 127, 0, exponents)
    elif name == "iq1_m":  # four bits each above those of the four 16-bit numbers at the end
        bits = make(0).view(np.uint16)[:, None] >> np.arange(0, 16, 4, dtype=np.uint16)
        numbers = blocks[:, 48:].copy().view(np.uint16)
        blocks[:, 48:] = (numbers & 0x0FFF | (bits & 15) << 12).view(np.uint8)


def _raw(
    block_format: BlockFormat,
    rows: int,
    columns: int,
    make: Callable[[tuple[int, int]], Bytes],
) -> Bytes:
    assert gguf.GGML_QUANT_SIZES[GGMLQuantizationType(block_format.id)][1] == block_format.bytes
    return make((rows * columns // block_format.values, block_format.bytes))
