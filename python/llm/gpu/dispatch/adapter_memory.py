"""Adapters on a device: their matrices lie in buffers of their own, after those of the model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from llm.errors import DeviceMemoryError
from llm.gpu.adapters import Adapter, Adapters, Gains
from llm.gpu.device.placement import Layout, place
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.device.upload import upload_arrays
from llm.gpu.dispatch.dispatches import Scratch
from llm.gpu.dispatch.sequence_memory import SequenceMemory
from llm.gpu.program import WORD, Batch, Program


@dataclass(slots=True)
class Held:
    """One adapter."""

    layout: Layout
    buffers: Sequence[Any]
    weight: float = 0.0  # that its gains are

    @property
    def nbytes(self) -> int:
        return sum(self.layout.shard_words) * WORD


class AdapterMemory(SequenceMemory):
    """See `Executor`."""

    _layout: Layout  # of the model's weights, and of those of adapters
    _shards: Sequence[Any]
    _scratch: Scratch  # where it is not in use, tapes have what comes between two matrices

    def __init__(self, program: Program, device: RenderingDevice) -> None:
        super().__init__(program, device)
        self._program = program
        self._device = device
        self._adapters = Adapters(program)
        self._held: dict[int, Held] = {}  # by number
        self._of_model: tuple[Layout, Sequence[Any]] | None = None  # weights without adapters

    def add_adapter(self, path: str, architecture: str) -> Adapter:
        adapter, arrays = self._adapters.add(path, architecture)
        layout = place(adapter.weights)
        buffers: list[Any] = []
        try:
            for words in layout.shard_words:
                what = f"the adapter {path}"
                buffers.append(self._device.buffer(words * WORD, what, addressed=True))
            gains = {gain.name: np.zeros(gain.columns, np.float32) for gain in adapter.gains}
            upload_arrays(self._device, buffers, layout, {**gains, **arrays})
        except BaseException:
            self._device.free(*buffers)
            self._adapters.remove(adapter.number)
            raise
        self._held[adapter.number] = Held(layout, buffers)
        self._place_adapters()
        return adapter

    def remove_adapter(self, number: int) -> None:
        self._adapters.remove(number)
        buffers = self._held.pop(number).buffers
        self._place_adapters()
        self._device.free(*buffers)  # and with them their sets

    def adapt(self, sequence: int, gains: Gains) -> None:
        numbers = tuple(number for number, _ in gains)
        largest = self._program.max_rows, self._program.max_outputs
        needed = self._adapters.tape(*largest, numbers).work_floats
        room = self._scratch.start + self._scratch.size
        if needed > room:
            raise DeviceMemoryError(
                f"{len(gains)} adapters need {needed * WORD:,} bytes of activations, and there are "
                f"{room * WORD:,}; use fewer of them, or of a lower rank"
            )
        self._adapters.adapt(sequence, gains)

    def _put_gains(self, batch: Batch) -> None:
        """The weights of the batch's adapters go where its operations read them."""
        for number, weight in self._adapters.gains_of(batch):
            held = self._held[number]
            if held.weight == weight:
                continue
            for gain in self._adapters.loaded[number].gains:
                placement, size = held.layout.placements[gain.name], gain.columns * WORD
                data = self._device.staging(size)
                np.frombuffer(data.view(), np.float32)[:] = weight
                at = placement.planes[0] * WORD
                self._device.write(held.buffers[placement.shard], at, data, size)
            held.weight = weight

    def _place_adapters(self) -> None:
        if self._of_model is None:
            self._of_model = self._layout, self._shards
        layout, shards = self._of_model
        placements, shards = dict(layout.placements), list(shards)
        for held in self._held.values():
            for name, found in held.layout.placements.items():
                placements[name] = replace(found, shard=found.shard + len(shards))
            shards += held.buffers
        self._layout, self._shards = replace(layout, placements=placements), shards
        self._bind_again(has_slots=False)

    def _free_memory(self) -> None:
        super()._free_memory()
        for held in self._held.values():
            self._device.free(*held.buffers)
        self._held = {}

    @property
    def _memory_bytes(self) -> int:
        return super()._memory_bytes + sum(held.nbytes for held in self._held.values())
