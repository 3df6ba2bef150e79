"""Where the planes of each weight lie in the weight buffers of the GPU."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

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
    n_bound: int  # of them; the others are so large that they are only read through addresses


def place(
    weights: Iterable[Weight], limit: int = SHARD_WORDS, far: Iterable[Weight] = ()
) -> Layout:
    """Lays weights one after the other; a new shard begins where the next would not fit.

    Vectors and tables come first, so that a kernel which reads two of them finds both in shard 0.
    A weight larger than `limit` words gets a shard of its own, which the device then refuses
    with both sizes. Each of the weights that are `far` has one, too, after those of the others.
    """
    placements: dict[str, Placement] = {}
    shards = [0]
    for weight in sorted(weights, key=lambda weight: weight.rows * weight.columns > SMALL):
        sizes = _plane_sizes(weight)
        if shards[-1] and shards[-1] + sum(sizes) > limit:
            shards.append(0)
        placements[weight.name] = Placement(len(shards) - 1, _starts(sizes, shards[-1]))
        shards[-1] += sum(sizes)
    n_bound = len(shards)
    for weight in far:
        sizes = _plane_sizes(weight)
        placements[weight.name] = Placement(len(shards), _starts(sizes, 0))
        shards.append(sum(sizes))
    return Layout(placements, tuple(shards), n_bound)


def _plane_sizes(weight: Weight) -> list[int]:
    """Words of each plane."""
    words = plane_words(weight.format, weight.rows * weight.columns)
    return [-(-size // ALIGNMENT) * ALIGNMENT for size in words]


def _starts(sizes: list[int], first: int) -> tuple[int, ...]:
    return tuple(accumulate(sizes[:-1], initial=first))
