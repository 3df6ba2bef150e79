"""Where the planes of each weight lie in the weight buffers of the GPU."""

from collections.abc import Iterable
from dataclasses import dataclass

from llm.files.repack import plane_words
from llm.gpu.operations import Weight

ALIGNMENT = 4  # words: kernels read planes as uvec4
SMALL = 1 << 17  # weights; norms and tables are below, matrices that matter above
SHARD_WORDS = 1 << 28  # 1 GiB


@dataclass(frozen=True, slots=True)
class Placement:
    shard: int
    planes: tuple[int, ...]  # word offset of each plane in its shard

    @property
    def four_planes(self) -> tuple[int, int, int, int]:
        """As kernels take them; 0 for those that the format has not."""
        first, second, third, fourth, *_ = *self.planes, 0, 0, 0
        return first, second, third, fourth


@dataclass(frozen=True, slots=True)
class Layout:
    placements: dict[str, Placement]  # by the weight's name
    shard_words: tuple[int, ...]  # size of each shard


def place(weights: Iterable[Weight], limit: int = SHARD_WORDS) -> Layout:
    """Lays weights one after the other; a new shard begins where the next would not fit.

    Vectors and tables come first, so that a kernel which reads two of them finds both in shard 0.
    A weight larger than `limit` words gets a shard of its own, which the device then refuses
    with both sizes.
    """
    placements: dict[str, Placement] = {}
    shards = [0]
    for weight in sorted(weights, key=lambda weight: weight.rows * weight.columns > SMALL):
        sizes = [
            -(-words // ALIGNMENT) * ALIGNMENT
            for words in plane_words(weight.format, weight.rows * weight.columns)
        ]
        if shards[-1] and shards[-1] + sum(sizes) > limit:
            shards.append(0)
        planes = []
        for size in sizes:
            planes.append(shards[-1])
            shards[-1] += size
        placements[weight.name] = Placement(len(shards) - 1, tuple(planes))
    return Layout(placements, tuple(shards))
