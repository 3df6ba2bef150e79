"""Which weights are loaded before the step that needs them, while groups wait for one another.

They lie in the cache that all multiprocessors share when their step comes; the memory would be idle
otherwise. Groups for which an attention has no cells load what the next steps read; subgroups that
are done with a product load the first lines of their rows in the next one.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from llm.files.repack import plane_words
from llm.gpu.steps.attention import Attention
from llm.gpu.steps.packing import Grid, Locate, Words, vector_address
from llm.gpu.steps.steps import AHEAD, AHEAD_LINES, NEXT, NEXT_END, NEXT_STRIDE, Product, Step

LINE = 32  # bytes that a load brings along
MOST_BYTES = 12 << 20  # as much as comes during an attention; a large GPU caches several times that
WORD = 4  # bytes


def load_ahead(steps: Sequence[Step], packed: Sequence[Words], locate: Locate, grid: Grid) -> None:
    """Puts the memory of the next weights into the words of a token's steps, in place.

    `grid` is that of the kernel's cases.
    """
    for number, (step, words) in enumerate(zip(steps, packed, strict=True)):
        if isinstance(step, Attention):
            start, size = _run_of(_planes(steps[number + 1 :], locate), MOST_BYTES)
            words[AHEAD : AHEAD + 2] = (start & 0xFFFFFFFF, start >> 32)
            words[AHEAD_LINES] = size // LINE
    for (step, following), words in zip(pairwise(steps), packed, strict=False):
        if isinstance(step, Product) and isinstance(following, Product) and following.is_whole:
            words[NEXT : NEXT + 2] = vector_address(following.weights[0], locate)
            words[NEXT_STRIDE : NEXT_END + 1] = following.first_plane(grid)


def _planes(steps: Sequence[Step], locate: Locate) -> Iterator[tuple[int, int]]:
    """The address and the bytes of each plane that products read whole, in their order: which
    experts a token uses is known only later."""
    for step in steps:
        for weight in step.weights if isinstance(step, Product) and step.is_whole else ():
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
