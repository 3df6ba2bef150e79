"""The recurrent state of sequences on a device: a quad for each, then slots, in one buffer.

A slot has the state of every layer. The quad of a sequence has in its first word the quad where its
slot starts: shaders/include/slots.glslh.
"""

from collections.abc import Callable

import numpy as np

from llm.gpu.device.growing_buffer import WORD, GrowingBuffer
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.program import MAX_SEQUENCES

QUAD = 4  # words


class DeviceSlots(GrowingBuffer):
    """See `StateSlots`. One slot at first, which sequence 0 has."""

    def __init__(
        self, device: RenderingDevice, state_words: int, replaced: Callable[[], None]
    ) -> None:
        """`replaced` is called when the buffer has become another."""
        super().__init__(device, "the recurrent state", MAX_SEQUENCES * QUAD, state_words, 1)
        self._replaced = replaced

    @property
    def count(self) -> int:
        return self.parts

    def grow(self, count: int) -> None:
        super().grow(count)
        self._replaced()

    def clear(self) -> None:
        """Zeros, and the quad of sequence 0."""
        super().clear()
        self.place(0, 0)

    def place(self, sequence: int, slot: int) -> None:
        data = self._device.staging(QUAD * WORD)
        words = np.frombuffer(data.view(), np.uint32)
        words[:] = 0
        words[0] = self.start(slot) // QUAD
        self._device.write(self.buffer, sequence * QUAD * WORD, data, QUAD * WORD)
