"""Block formats -> the aligned planes that kernels read.

Most blocks are not a whole number of words, so their parts would straddle the 32-bit words that a
kernel loads. Each part of a block therefore goes to a plane of its own, where all parts of one
kind lie one after another: no bit changes, and nothing grows by more than a plane's padding.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from llm.errors import UnsupportedModelError
from llm.files.formats import BlockFormat
from llm.files.grids import grids
from llm.files.wording import quoted

PLANE_ALIGNMENT = 16  # bytes: kernels load four words at once
PIECE_BLOCKS = 4  # whose parts, of a byte or more each, are whole words


@dataclass(frozen=True, slots=True)
class Part:
    """The bytes of each block that go to one plane."""

    start: int
    size: int


# Of every format that is run, in the order of the planes. A plane holds its parts in the order of
# the blocks, row after row; two-byte parts (scales, f16) come two a word, the earlier block's in
# the low half. Formats whose weights are entries of a grid have it as one plane more.
PLANES: dict[str, tuple[Part, ...]] = {
    "f32": (Part(0, 4),),
    "f16": (Part(0, 2),),
    "bf16": (Part(0, 2),),
    "q8_0": (Part(2, 32), Part(0, 2)),  # int8, d
    "q4_0": (Part(2, 16), Part(0, 2)),  # nibbles, d
    "q4_1": (Part(4, 16), Part(0, 4)),  # nibbles, d and m
    "q5_0": (Part(6, 16), Part(2, 4), Part(0, 2)),  # low nibbles, high bits, d
    "q5_1": (Part(8, 16), Part(4, 4), Part(0, 4)),  # low nibbles, high bits, d and m
    "iq4_nl": (Part(2, 16), Part(0, 2)),  # nibbles, d
    "mxfp4": (Part(1, 16), Part(0, 1)),  # nibbles, exponent
    "nvfp4": (Part(4, 32), Part(0, 4)),  # nibbles, scales
    "q2_k": (Part(16, 64), Part(0, 16), Part(80, 4)),  # qs, scales, d and dmin
    "q3_k": (Part(32, 64), Part(0, 32), Part(96, 12), Part(108, 2)),  # qs, hmask, scales, d
    "q4_k": (Part(0, 144),),  # a block of 36 words as it is
    "q5_k": (Part(0, 176),),  # of 44 words
    "q6_k": (Part(0, 128), Part(128, 64), Part(192, 16), Part(208, 2)),  # ql, qh, int8 scales, d
    "iq4_xs": (Part(8, 128), Part(0, 8)),  # nibbles, d with the scales
    "iq2_xxs": (Part(2, 64), Part(0, 2)),  # qs, d
    "iq2_xs": (Part(2, 64), Part(66, 8), Part(0, 2)),  # qs, scales, d
    "iq2_s": (Part(2, 64), Part(66, 16), Part(0, 2)),  # qs and signs, qh and scales, d
    "iq3_xxs": (Part(2, 64), Part(66, 32), Part(0, 2)),  # qs, signs with the scales, d
    "iq3_s": (Part(2, 64), Part(66, 44), Part(0, 2)),  # qs, qh, signs and scales, d
    "iq1_s": (Part(2, 32), Part(34, 16), Part(0, 2)),  # qs, qh with the scales, d
    "iq1_m": (Part(0, 32), Part(32, 16), Part(48, 8)),  # qs, qh, scales with d
    "tq1_0": (Part(0, 48), Part(48, 4), Part(52, 2)),  # qs, qh, d
    "tq2_0": (Part(0, 64), Part(64, 2)),  # qs, d
}


def check_packable(path: str, name: str, format: BlockFormat) -> None:
    """UnsupportedModelError if tensor `name` is stored in a format without planes."""
    if format.name not in PLANES:
        raise UnsupportedModelError(path, f"format of tensor {quoted(name)}", format, PLANES)


def plane_words(format: BlockFormat, count: int) -> tuple[int, ...]:
    """Words of each plane that holds `count` values, padding included; then of the grid, if any."""
    blocks = format.blocks_in(count)
    sizes = (
        -(-blocks * part.size // PLANE_ALIGNMENT) * (PLANE_ALIGNMENT // 4)
        for part in PLANES[format.name]
    )
    return *sizes, *(grid.size for grid in grids(format.name))


def pack(data: np.ndarray, format: BlockFormat, blocks: int) -> list[np.ndarray]:
    """All planes (uint32, padded with zeros) of `blocks` blocks whose bytes are `data` (uint8)."""
    sizes = plane_words(format, blocks * format.values)[: len(PLANES[format.name])]
    planes = [np.empty(words, np.uint32) for words in sizes]
    pack_into(data[: blocks * format.bytes], format, planes)
    return [*planes, *grids(format.name)]


def pack_into(data: np.ndarray, format: BlockFormat, planes: Sequence[np.ndarray]) -> None:
    """Writes the parts of whole blocks (`data`, uint8) into memory that the caller gives.

    Each plane is a contiguous uint32 array that holds its parts; what is left of it is zeroed.
    A tensor may be packed in pieces: of a multiple of PIECE_BLOCKS (but the last), so that every
    piece ends with a word. ValueError if sizes do not match.
    """
    blocks, odd = divmod(len(data), format.bytes)
    if odd or not data.flags.c_contiguous:
        raise ValueError(f"{len(data):,} bytes are not whole {format.name} blocks in a row")
    for part, plane in zip(PLANES[format.name], planes, strict=True):
        used = blocks * part.size
        if plane.dtype != np.uint32 or not plane.flags.c_contiguous or plane.nbytes < used:
            raise ValueError(
                f"a plane of {format.name} needs {used:,} bytes of uint32, got {plane.nbytes:,}"
            )
        target = plane.view(np.uint8)
        # Items of `size` opaque bytes: numpy copies each as one, 8 GB/s even where unaligned.
        item = np.dtype((np.void, part.size))
        if blocks:
            parts = np.ndarray((blocks,), item, data, part.start, (format.bytes,))
            target[:used].view(item)[:] = parts
        target[used:] = 0
