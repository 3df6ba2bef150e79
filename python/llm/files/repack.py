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
from llm.files.wording import quoted

PLANE_ALIGNMENT = 16  # bytes: kernels load four words at once


@dataclass(frozen=True, slots=True)
class Part:
    """The bytes of each block that go to one plane."""

    start: int
    size: int


# By format, in the order of the planes. A plane holds its parts in the order of the blocks, row
# after row; two-byte parts (scales, f16) come two a word, the earlier block's in the low half.
PLANES: dict[str, tuple[Part, ...]] = {
    "f32": (Part(0, 4),),
    "f16": (Part(0, 2),),
    "q8_0": (Part(2, 32), Part(0, 2)),  # int8, d
    "q5_0": (Part(6, 16), Part(2, 4), Part(0, 2)),  # low nibbles, high bits, d
    "q4_k": (Part(0, 144),),  # a block of 36 words as it is
    "q6_k": (Part(0, 128), Part(128, 64), Part(192, 16), Part(208, 2)),  # ql, qh, int8 scales, d
}


def check_packable(path: str, name: str, format: BlockFormat) -> None:
    """UnsupportedModelError if tensor `name` is stored in a format without planes."""
    if format.name not in PLANES:
        raise UnsupportedModelError(path, f"format of tensor {quoted(name)}", format, PLANES)


def plane_words(format: BlockFormat, count: int) -> tuple[int, ...]:
    """Words of each plane that holds `count` values, padding included."""
    blocks = format.blocks_in(count)
    return tuple(
        -(-blocks * part.size // PLANE_ALIGNMENT) * (PLANE_ALIGNMENT // 4)
        for part in PLANES[format.name]
    )


def pack(data: np.ndarray, format: BlockFormat, blocks: int) -> list[np.ndarray]:
    """Planes (uint32, padded with zeros) of `blocks` blocks whose bytes are `data` (uint8)."""
    planes = [np.empty(words, np.uint32) for words in plane_words(format, blocks * format.values)]
    pack_into(data[: blocks * format.bytes], format, planes)
    return planes


def pack_into(data: np.ndarray, format: BlockFormat, planes: Sequence[np.ndarray]) -> None:
    """Writes the planes of whole blocks (`data`, uint8) into memory that the caller gives.

    Each plane is a contiguous uint32 array that holds its parts; what is left of it is zeroed.
    A tensor may be packed in pieces: of an even number of blocks (but the last), so that every
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
