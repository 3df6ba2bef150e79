"""The keys and values of all sequences on a device: tables, then pages, in one buffer.

A page has PAGE_CELLS cells of every layer. A table has a quad of 16 bytes for each page of a
sequence, whose first word is the quad where that page starts: shaders/include/pages.glslh.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.operations import PAGE_CELLS
from llm.gpu.program import MAX_SEQUENCES

WORD = 4  # bytes
QUAD = 4  # words


class PagedCache:
    """Room for one whole sequence at first, which is what the table of sequence 0 says."""

    def __init__(self, device: RenderingDevice, page_words: int, context: int) -> None:
        self._device = device
        self._page_words = page_words
        self._table_quads = -(-context // PAGE_CELLS)
        self.pages = self._table_quads
        self.buffer: Any = None
        self._between: Any = None  # Godot copies from one buffer to another only

    @property
    def nbytes(self) -> int:
        """Of tables and pages together."""
        return self._page_start(self.pages) * WORD

    def clear(self) -> None:
        """Zeros, and the table of sequence 0."""
        self._device.clear(self.buffer, self.nbytes)
        self.place(0, range(self.pages))

    def grow(self, pages: int) -> None:
        """A larger buffer that holds the same; the other is freed, with the sets that have it."""
        before, size = self.buffer, self.nbytes
        self.pages, old_pages = pages, self.pages
        try:
            self.allocate()
        except BaseException:
            self.pages = old_pages
            raise
        self._device.clear(self.buffer, self.nbytes)
        self._device.copy(before, self.buffer, 0, size)
        self._device.free(before)

    def allocate(self) -> None:
        """DeviceMemoryError when refused."""
        self.buffer = self._device.buffer(self.nbytes, "the key/value cache", addressed=True)

    def copy_page(self, source: int, target: int) -> None:
        """Of all layers; what the other page had is lost. DeviceMemoryError."""
        size = self._page_words * WORD
        if self._between is None:
            self._between = self._device.buffer(size, "a page of the key/value cache")
        at, to = self._page_start(source) * WORD, self._page_start(target) * WORD
        self._device.copy(self.buffer, self._between, at, size)
        self._device.copy(self._between, self.buffer, 0, size, to=to)

    def read_page(self, page: int) -> bytes:
        """Runs what is recorded, and waits. DeviceMemoryError."""
        at = self._page_start(page) * WORD
        return self._device.read_part(self.buffer, at, self._page_words * WORD)

    def write_page(self, page: int, data: bytes) -> None:
        """What read_page() gave."""
        staged = self._device.staging(len(data))
        staged.view()[:] = data
        self._device.write(self.buffer, self._page_start(page) * WORD, staged, len(data))

    def free(self) -> None:
        """Twice is harmless."""
        buffers = [buffer for buffer in (self.buffer, self._between) if buffer is not None]
        if buffers:
            self._device.free(*buffers)  # and with them the sets that have one
        self.buffer = self._between = None

    def place(self, sequence: int, pages: Sequence[int], first: int = 0) -> None:
        """Says where the pages of a sequence are, from its page `first` on."""
        size = len(pages) * QUAD * WORD
        data = self._device.staging(size)
        quads: NDArray[np.uint32] = np.frombuffer(data.view(), np.uint32).reshape(-1, QUAD)
        quads[:, 0] = [self._page_start(page) // QUAD for page in pages]
        at = self.table(sequence) + first
        self._device.write(self.buffer, at * QUAD * WORD, data, size)

    def table(self, sequence: int) -> int:
        """The quad where a sequence's table starts."""
        return sequence * self._table_quads

    def _page_start(self, page: int) -> int:
        """The word where a page starts."""
        return MAX_SEQUENCES * self._table_quads * QUAD + page * self._page_words
