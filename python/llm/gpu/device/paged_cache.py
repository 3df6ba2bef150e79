"""The keys and values of all sequences on a device: tables, then pages, in one buffer.

A page has PAGE_CELLS cells of every layer. A table has a quad of 16 bytes for each page of a
sequence, whose first word is the quad where that page starts: shaders/include/pages.glslh.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from llm.gpu.device.growing_buffer import WORD, GrowingBuffer
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.operations import PAGE_CELLS
from llm.gpu.program import MAX_SEQUENCES

QUAD = 4  # words


class PagedCache(GrowingBuffer):
    """Room for one whole sequence at first, which is what the table of sequence 0 says."""

    def __init__(self, device: RenderingDevice, page_words: int, context: int) -> None:
        self.table_quads = -(-context // PAGE_CELLS)
        tables = MAX_SEQUENCES * self.table_quads * QUAD
        super().__init__(device, "the key/value cache", tables, page_words, self.table_quads)

    def clear(self) -> None:
        """Zeros, and the table of sequence 0."""
        super().clear()
        self.place(0, range(self.parts))

    def place(self, sequence: int, pages: Sequence[int], first: int = 0) -> None:
        """Says where the pages of a sequence are, from its page `first` on."""
        size = len(pages) * QUAD * WORD
        data = self._device.staging(size)
        quads: NDArray[np.uint32] = np.frombuffer(data.view(), np.uint32).reshape(-1, QUAD)
        quads[:, 0] = [self.start(page) // QUAD for page in pages]
        at = self.table(sequence) + first
        self._device.write(self.buffer, at * QUAD * WORD, data, size)

    def table(self, sequence: int) -> int:
        """The quad where a sequence's table starts."""
        return sequence * self.table_quads
