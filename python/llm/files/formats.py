"""The block formats that a GGUF tensor can be stored in.

Weights are stored in blocks of a fixed number of values; a row of a matrix is a whole number of
blocks. Sizes are those of the GGUF specification and of ggml's block structures. This table says
how large things are, not which of them the kernels can read.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """How many values a block holds, and in how many bytes."""

    id: int  # the number that stands for it in a file
    name: str
    values: int
    bytes: int

    def blocks_in(self, count: int) -> int:
        """Blocks that hold `count` values; ValueError if they are not whole blocks."""
        if count % self.values:
            raise ValueError(f"{self.name} stores {self.values} values a block, got {count}")
        return count // self.values

    def size_of(self, count: int) -> int:
        """Bytes that hold `count` values."""
        return self.blocks_in(count) * self.bytes

    def __str__(self) -> str:
        return self.name


# The numbers that are missing (4, 5, 31-33, 36-38) were formats that GGUF no longer has.
# 9 and 15 are made while a model runs; no file should hold them, but their sizes are defined.
_TABLE = (
    BlockFormat(0, "f32", values=1, bytes=4),
    BlockFormat(1, "f16", values=1, bytes=2),
    BlockFormat(2, "q4_0", values=32, bytes=18),
    BlockFormat(3, "q4_1", values=32, bytes=20),
    BlockFormat(6, "q5_0", values=32, bytes=22),
    BlockFormat(7, "q5_1", values=32, bytes=24),
    BlockFormat(8, "q8_0", values=32, bytes=34),
    BlockFormat(9, "q8_1", values=32, bytes=40),
    BlockFormat(10, "q2_k", values=256, bytes=84),
    BlockFormat(11, "q3_k", values=256, bytes=110),
    BlockFormat(12, "q4_k", values=256, bytes=144),
    BlockFormat(13, "q5_k", values=256, bytes=176),
    BlockFormat(14, "q6_k", values=256, bytes=210),
    BlockFormat(15, "q8_k", values=256, bytes=292),
    BlockFormat(16, "iq2_xxs", values=256, bytes=66),
    BlockFormat(17, "iq2_xs", values=256, bytes=74),
    BlockFormat(18, "iq3_xxs", values=256, bytes=98),
    BlockFormat(19, "iq1_s", values=256, bytes=50),
    BlockFormat(20, "iq4_nl", values=32, bytes=18),
    BlockFormat(21, "iq3_s", values=256, bytes=110),
    BlockFormat(22, "iq2_s", values=256, bytes=82),
    BlockFormat(23, "iq4_xs", values=256, bytes=136),
    BlockFormat(24, "i8", values=1, bytes=1),
    BlockFormat(25, "i16", values=1, bytes=2),
    BlockFormat(26, "i32", values=1, bytes=4),
    BlockFormat(27, "i64", values=1, bytes=8),
    BlockFormat(28, "f64", values=1, bytes=8),
    BlockFormat(29, "iq1_m", values=256, bytes=56),
    BlockFormat(30, "bf16", values=1, bytes=2),
    BlockFormat(34, "tq1_0", values=256, bytes=54),
    BlockFormat(35, "tq2_0", values=256, bytes=66),
    BlockFormat(39, "mxfp4", values=32, bytes=17),
    BlockFormat(40, "nvfp4", values=64, bytes=36),
    BlockFormat(41, "q1_0", values=128, bytes=18),
    BlockFormat(42, "q2_0", values=64, bytes=18),
)

FORMATS = {format.id: format for format in _TABLE}
FORMATS_BY_NAME = {format.name: format for format in _TABLE}
