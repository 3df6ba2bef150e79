"""Which weights the groups that an attention has no cells for load meanwhile.

What they load lies in the cache that all multiprocessors share when the next steps need it. The
memory would be idle otherwise: few groups attend, and they wait for one another.
"""

from collections.abc import Iterator, Sequence

from llm.files.repack import plane_words
from llm.gpu.steps.attention import Attention
from llm.gpu.steps.packing import Locate, Words
from llm.gpu.steps.steps import AHEAD, AHEAD_LINES, Product, Step

LINE = 32  # bytes that a load brings along
MOST_BYTES = 4 << 20  # more took longer than an attention does
WORD = 4  # bytes


def load_ahead(steps: Sequence[Step], packed: Sequence[Words], locate: Locate) -> None:
    """Puts the memory of the next weights into the words of a token's attentions, in place."""
    for number, (step, words) in enumerate(zip(steps, packed, strict=True)):
        if isinstance(step, Attention):
            start, size = _run_of(_planes(steps[number + 1 :], locate), MOST_BYTES)
            words[AHEAD : AHEAD + 2] = (start & 0xFFFFFFFF, start >> 32)
            words[AHEAD_LINES] = size // LINE


def _planes(steps: Sequence[Step], locate: Locate) -> Iterator[tuple[int, int]]:
    """The address and the bytes of each plane that products read, in their order."""
    for step in steps:
        for weight in step.weights if isinstance(step, Product) else ():
            sizes = plane_words(weight.format, weight.rows * weight.columns)
            yield from zip(locate(weight), (size * WORD for size in sizes), strict=True)


def _run_of(planes: Iterator[tuple[int, int]], most: int) -> tuple[int, int]:
    """Where the first planes lie that follow each other in memory; their bytes, up to `most`."""
    start, size = next(planes, (0, 0))
    while size < most:
        address, more = next(planes, (0, 0))
        if more == 0 or address != start + size:
            break
        size += more
    return start, min(size, most)
