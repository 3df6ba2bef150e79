"""Brings weights from the mapped file to the GPU: packed into planes, slice by slice.

A slice goes file -> engine memory -> staging -> GPU; packing writes straight into the engine's
memory, so that there is one copy less.
"""

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from llm.files.formats import FORMATS, BlockFormat
from llm.files.gguf import GgufFile
from llm.files.repack import PLANES, pack_into
from llm.gpu.placement import Layout, Placement
from llm.gpu.program import Program
from llm.gpu.rendering_device import RenderingDevice

SLICE_BYTES = 16 << 20  # about 10 ms of upload: short enough to watch and to give up
WORD = 4
F32 = FORMATS[0]


def upload_weights(
    device: RenderingDevice,
    shards: Sequence[Any],
    layout: Layout,
    program: Program,
    file: GgufFile,
) -> Generator[float, None, None]:
    """Fills the weight buffers; yields the fraction of bytes done after each slice.

    Raises DeviceError for a refused upload.
    """
    staging = _Staging(device)
    total = sum(weight.format.size_of(weight.rows * weight.columns) for weight in program.weights)
    done = 0
    for weight in program.weights:
        placement = layout.placements[weight.name]
        for start, data in _slices(file.data(weight.name), weight.format):
            staging.send(shards[placement.shard], placement, weight.format, start, data)
            done += len(data)
            yield done / total
    for name, values in program.constants.items():
        placement = layout.placements[name]
        raw = np.ascontiguousarray(values, np.float32).view(np.uint8).reshape(-1)
        staging.send(shards[placement.shard], placement, F32, 0, raw)
    device.finish()


class _Staging:
    """Engine memory that planes are packed into, kept from slice to slice."""

    def __init__(self, device: RenderingDevice) -> None:
        self._device = device
        self._arrays: list[Any] = []

    def send(
        self,
        buffer: Any,
        placement: Placement,
        format: BlockFormat,
        start: int,
        data: np.ndarray,
    ) -> None:
        """Packs whole blocks and uploads them; `start` is the first block's number, even."""
        parts = PLANES[format.name]
        blocks = len(data) // format.bytes
        sizes = [-(-blocks * part.size // WORD) * WORD for part in parts]
        arrays = self._room(sizes)
        planes = [
            np.frombuffer(array.view(), np.uint32, size // WORD)
            for array, size in zip(arrays, sizes, strict=True)
        ]
        pack_into(data, format, planes)
        for part, plane, array, size in zip(parts, placement.planes, arrays, sizes, strict=True):
            self._device.write(buffer, plane * WORD + start * part.size, array, size)
        self._device.finish()

    def _room(self, sizes: Sequence[int]) -> list[Any]:
        while len(self._arrays) < len(sizes):
            self._arrays.append(self._device.staging(0))
        for index, size in enumerate(sizes):
            if len(self._arrays[index]) < size:
                self._arrays[index] = self._device.staging(size)
        return self._arrays[: len(sizes)]


def _slices(data: np.ndarray, format: BlockFormat) -> Generator[tuple[int, np.ndarray], None, None]:
    """(number of the first block, bytes) of pieces of an even number of blocks."""
    blocks = max(2, SLICE_BYTES // format.bytes // 2 * 2)
    for start in range(0, len(data) // format.bytes, blocks):
        yield start, data[start * format.bytes : (start + blocks) * format.bytes]
