"""Runs single kernels on the engine's GPU device, with numpy arrays going in and coming out."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.weight_blocks import BY_NAME, Bytes

from godot import PackedByteArray
from godot.compute import ComputeTable
from llm.files.repack import pack
from llm.gpu import state
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.dispatch.dispatches import Dispatch
from llm.gpu.dispatch.launches import Groups
from llm.gpu.kernels.addresses import words_of
from llm.gpu.kernels.shader_source import expand
from llm.gpu.kernels.variants import pack_params

WORDS = {"weights": 1 << 20, "work": 1 << 21, "cache": 1 << 20, "state": state.STATE_WORDS}
BINDINGS = ("weights", "weights", "work", "work", "work", "cache", "cache", "state")

Launch = tuple[str, Mapping[str, Any] | bytes, Groups]  # parameters, or packed ones


class KernelBench:
    """The four buffers that kernels know, and one uniform set."""

    def __init__(self, device: RenderingDevice) -> None:
        self.device = device
        self._buffers = {
            name: device.buffer(4 * words, name, addressed=True) for name, words in WORDS.items()
        }
        self._set: Any = None

    def put(self, space: str, at: int, values: NDArray[Any]) -> None:
        """Uploads 4-byte values to word `at` of a buffer."""
        raw = np.ascontiguousarray(values)
        assert raw.itemsize == 4
        data = PackedByteArray(max(raw.nbytes, 1))
        data.view()[: raw.nbytes] = raw.tobytes()
        self.device.write(self._buffers[space], 4 * at, data, raw.nbytes)

    def put_state(self, **fields: Any) -> None:
        """Writes state words by the names of llm.gpu.state, e.g. ROWS=3, POSITIONS=[0, 1, 2]."""
        for name, value in fields.items():
            self.put("state", getattr(state, name), np.atleast_1d(np.asarray(value, np.uint32)))

    def put_weights(self, name: str, blocks: Bytes, at: int = 0) -> tuple[int, int, int, int]:
        """Uploads the planes of some rows of blocks; returns where each plane starts."""
        raw = blocks.reshape(-1)
        starts = []
        for plane in pack(raw, BY_NAME[name], raw.size // BY_NAME[name].bytes):
            self.put("weights", at, plane)
            starts.append(at)
            at += plane.size
        first, second, third, fourth, *_ = *starts, 0, 0, 0
        return first, second, third, fourth

    def address(self, space: str, word: int) -> tuple[int, int]:
        """The device address of a word of a buffer, as two words."""
        return words_of(self.space_address(space) + 4 * word)

    def space_address(self, space: str) -> int:
        """The device address where a buffer begins."""
        return self.device.address(self._buffers[space])

    def floats(self, at: int, *shape: int) -> NDArray[np.float32]:
        return self.words("work", at, int(np.prod(shape))).view(np.float32).reshape(shape)

    def words(self, space: str, at: int, count: int) -> NDArray[np.uint32]:
        target = self.device.buffer(4 * count, "what a test reads")
        self.device.copy(self._buffers[space], target, 4 * at, 4 * count)
        found = np.frombuffer(self.device.read(target, 0, 4 * count), np.uint32).copy()
        self.device.free(target)
        return found

    def run(self, launches: Iterable[Launch]) -> None:
        """Runs launches one after the other."""
        rows = []
        for name, params, groups in launches:
            pipeline = self.device.pipeline(name, expand(name))
            if self._set is None:
                buffers = [self._buffers[space] for space in BINDINGS]
                self._set = self.device.uniform_set(buffers, self.device.shader(name))
            packed = params if isinstance(params, bytes) else pack_params(name, **params)
            rows.append((pipeline, self._set, packed, groups, True))
        self.device.play(ComputeTable(rows))

    def play(self, dispatches: Iterable[Dispatch]) -> None:
        """Runs what operations become, on the one weight buffer that there is."""
        self.run((found.kernel, found.parameters, found.groups) for found in dispatches)

    def close(self) -> None:
        self.device.free(*self._buffers.values())  # and with them the set
        self.device.finish()
