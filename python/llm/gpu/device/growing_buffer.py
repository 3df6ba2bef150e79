"""A buffer of equal parts behind a head, to which more parts can be added."""

from typing import Any

from llm.gpu.device.rendering_device import RenderingDevice

WORD = 4  # bytes


class GrowingBuffer:
    """`what` it holds is for error messages; sizes are in words."""

    def __init__(
        self, device: RenderingDevice, what: str, head_words: int, part_words: int, parts: int
    ) -> None:
        self.parts = parts
        self.buffer: Any = None
        self._device = device
        self._what = what
        self._head_words = head_words
        self._part_words = part_words
        self._between: Any = None  # Godot copies from one buffer to another only

    @property
    def nbytes(self) -> int:
        return self.start(self.parts) * WORD

    def clear(self) -> None:
        """Zeros."""
        self._device.clear(self.buffer, self.nbytes)

    def grow(self, parts: int) -> None:
        """A larger buffer that holds the same; the other is freed, with the sets that have it."""
        before, size = self.buffer, self.nbytes
        self.parts, old_parts = parts, self.parts
        try:
            self.allocate()
        except BaseException:
            self.parts = old_parts
            raise
        self._device.clear(self.buffer, self.nbytes)
        self._device.copy(before, self.buffer, 0, size)
        self._device.free(before)

    def allocate(self) -> None:
        """DeviceMemoryError when refused."""
        self.buffer = self._device.buffer(self.nbytes, self._what, addressed=True)

    def copy(self, source: int, target: int) -> None:
        """What the target part had is lost. DeviceMemoryError."""
        size = self._part_words * WORD
        if self._between is None:
            self._between = self._device.buffer(size, f"a part of {self._what}")
        at, to = self.start(source) * WORD, self.start(target) * WORD
        self._device.copy(self.buffer, self._between, at, size)
        self._device.copy(self._between, self.buffer, 0, size, to=to)

    def read(self, part: int) -> bytes:
        """Runs what is recorded, and waits. DeviceMemoryError."""
        at = self.start(part) * WORD
        return self._device.read_part(self.buffer, at, self._part_words * WORD)

    def write(self, part: int, data: bytes) -> None:
        """What read() gave."""
        staged = self._device.staging(len(data))
        staged.view()[:] = data
        self._device.write(self.buffer, self.start(part) * WORD, staged, len(data))

    def free(self) -> None:
        """Twice is harmless."""
        buffers = [buffer for buffer in (self.buffer, self._between) if buffer is not None]
        if buffers:
            self._device.free(*buffers)  # and with them the sets that have one
        self.buffer = self._between = None

    def start(self, part: int) -> int:
        """The word where a part starts."""
        return self._head_words + part * self._part_words
