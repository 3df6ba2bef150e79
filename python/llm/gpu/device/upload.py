"""Brings weights from the mapped file to the GPU: packed into planes, slice by slice.

Threads pack slices into the engine's memory and make short-lived buffers of them, which Godot
fills through a staging buffer and a queue of their own; the device's thread copies these into the
weight buffers, GPU to GPU. One thread alone would be bound by its two copies in memory: on an H200
3.1 GB/s instead of 15.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llm.files.formats import FORMATS, BlockFormat
from llm.files.grids import grids
from llm.files.model_file import ModelFile
from llm.files.repack import PIECE_BLOCKS, PLANES, pack_into
from llm.gpu.device.placement import Layout, Placement
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.operations import Weight
from llm.gpu.program import Program
from llm.gpu.stored_rows import stored_rows

THREADS = min(8, os.cpu_count() or 1)
AHEAD = 2 * THREADS  # slices on their way
SLICE_BYTES = 8 << 20  # of engine memory, a thread; on an H200 half of it takes as long
SUBMIT_BYTES = 32 << 20  # copied GPU to GPU in one submit; so much more memory is in use meanwhile
SMALLEST = 1 << 16  # bytes of a buffer that carries a slice
WORD = 4
F32, F16 = FORMATS[0], FORMATS[1]


def upload_weights(
    device: RenderingDevice,
    shards: Sequence[Any],
    layout: Layout,
    program: Program,
    file: ModelFile,
) -> Generator[float, None, None]:
    """Fills the weight buffers; yields the fraction of bytes done after each slice.

    Closing the generator waits for the slices on their way, some milliseconds where the file is in
    memory. Raises DeviceMemoryError where the device has no room for them.
    """
    weights = (*program.weights, *program.far_tables)
    total = sum(weight.size for weight in weights)
    total += sum(grid.nbytes for weight in weights for grid in grids(weight.format.name))
    total += sum(values.size * WORD for values in program.constants.values())
    with closing(_upload(device, shards, _slices(layout, program, file))) as slices:
        for done in slices:
            yield done / total


def upload_arrays(
    device: RenderingDevice, shards: Sequence[Any], layout: Layout, arrays: Mapping[str, Any]
) -> None:
    """Fills buffers with arrays of float32 or float16, by the names of their weights.

    Raises DeviceMemoryError as upload_weights().
    """
    slices = (_whole(layout.placements[name], values) for name, values in arrays.items())
    deque(_upload(device, shards, slices), maxlen=0)


def _upload(
    device: RenderingDevice, shards: Sequence[Any], slices: Iterator["_Slice"]
) -> Generator[int, None, None]:
    """Yields the bytes done after each slice."""
    done = pending = 0
    packer = _Packer(device)
    coming: deque[tuple[_Slice, Future[Any]]] = deque()
    with ThreadPoolExecutor(THREADS, "llm-upload") as pool:
        try:
            while True:
                while len(coming) < AHEAD and (part := next(slices, None)) is not None:
                    coming.append((part, pool.submit(packer.pack, part)))
                if not coming:
                    break
                part, packed = coming[0]
                carrier = packed.result()
                coming.popleft()
                for source, target, size in part.copies():
                    shard = shards[part.placement.shard]
                    device.copy(carrier, shard, source, size, to=target)
                device.free(carrier)
                done += part.size
                pending += part.size
                if pending >= SUBMIT_BYTES:
                    device.finish()
                    pending = 0
                yield done
        finally:
            for _, packed in coming:
                if not packed.cancel() and packed.exception() is None:
                    device.free(packed.result())
    device.finish()


@dataclass(frozen=True, slots=True)
class _Slice:
    """Whole blocks of a weight; `start` is the first one's number, a multiple of PIECE_BLOCKS."""

    placement: Placement
    format: BlockFormat
    start: int
    blocks: int
    read: Callable[[], NDArray[np.uint8]]  # its bytes, perhaps made on the thread that asks

    @property
    def size(self) -> int:
        """Bytes before they are packed."""
        return self.blocks * self.format.bytes

    @property
    def sizes(self) -> list[int]:
        """Bytes of each plane, whole words."""
        return [-(-self.blocks * part.size // WORD) * WORD for part in PLANES[self.format.name]]

    def copies(self) -> Iterator[tuple[int, int, int]]:
        """(offset among the packed planes, offset in the shard, size) of each plane, in bytes."""
        source = 0
        parts = PLANES[self.format.name]  # without the grid
        for part, plane, size in zip(parts, self.placement.planes, self.sizes, strict=False):
            yield source, plane * WORD + self.start * part.size, size
            source += size


class _OwnMemory(threading.local):
    """What a thread packs into: arrays of the engine, and their words, by size in bytes."""

    def __init__(self) -> None:
        self.arrays: dict[int, tuple[Any, NDArray[np.uint32]]] = {}


class _Packer:
    """Packs slices, in any number of threads, each with engine memory of its own."""

    def __init__(self, device: RenderingDevice) -> None:
        self._device = device
        self._own = _OwnMemory()

    def pack(self, part: _Slice) -> Any:
        """A buffer that begins with the slice's planes, one after the other."""
        sizes = [size // WORD for size in part.sizes]
        array, words = self._room(sum(sizes) * WORD)
        ends = list(accumulate(sizes))
        planes = [words[end - size : end] for size, end in zip(sizes, ends, strict=True)]
        pack_into(part.read(), part.format, planes)
        return self._device.filled(array, "a slice of the weights")

    def _room(self, size: int) -> tuple[Any, NDArray[np.uint32]]:
        """Engine memory of at least `size` bytes: of few sizes, for a buffer takes all of it."""
        arrays = self._own.arrays
        size = max(SMALLEST, 1 << (size - 1).bit_length())
        if size not in arrays:
            array = self._device.staging(size)
            arrays[size] = array, np.frombuffer(array.view(), np.uint32)
        return arrays[size]


def _slices(layout: Layout, program: Program, file: ModelFile) -> Iterator[_Slice]:
    for name, values in program.constants.items():
        yield _whole(layout.placements[name], values)
    for weight in (*program.weights, *program.far_tables):
        placement = layout.placements[weight.name]
        yield from _cut(placement, weight, file)
        for grid in grids(weight.format.name):
            own = replace(placement, planes=placement.planes[-1:])
            yield _whole(own, grid)


def _whole(placement: Placement, values: NDArray[Any]) -> _Slice:
    """All of an array: words, or float16."""
    format = F16 if values.itemsize == 2 else F32
    return _Slice(placement, format, 0, values.size, partial(_bytes_of, values))


def _cut(placement: Placement, weight: Weight, file: ModelFile) -> Iterator[_Slice]:
    """Slices of so many rows that every plane of each ends with a word."""
    row_blocks = weight.format.blocks_in(weight.columns)
    most = file.rows_at_once(weight.tensor, SLICE_BYTES)
    step = max(1, most // PIECE_BLOCKS) * PIECE_BLOCKS
    for start in range(0, weight.rows, step):
        rows = min(step, weight.rows - start)
        read = partial(stored_rows, file, weight, start, rows)
        yield _Slice(placement, weight.format, start * row_blocks, rows * row_blocks, read)


def _bytes_of(values: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(values).view(np.uint8).reshape(-1)
