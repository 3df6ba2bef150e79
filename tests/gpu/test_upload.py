"""What the weight buffers hold after an upload, and that one given up leaves nothing behind."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.sample_gguf import random_blocks

from llm.errors import DeviceMemoryError
from llm.files.formats import FORMATS, FORMATS_BY_NAME
from llm.files.repack import PLANES, pack
from llm.gpu.device import upload
from llm.gpu.device.placement import Layout, place
from llm.gpu.device.rendering_device import RenderingDevice, open_device
from llm.gpu.device.upload import upload_weights
from llm.gpu.operations import Weight

CONSTANT = np.arange(19, dtype=np.float32).reshape(1, 19)
SHARD_WORDS = 1 << 14  # 64 KiB: several shards
SLICE_BYTES = 10_000


class Upload:
    """A weight of a few slices in each format, one of a block, and the buffers for them."""

    def __init__(self, device: RenderingDevice) -> None:
        self.device = device
        self.data = {}
        weights = []
        for seed, name in enumerate(PLANES):
            format = FORMATS_BY_NAME[name]
            for blocks in (1, 40_001 // format.bytes):
                weight = Weight(f"{name} {blocks}", format, blocks, format.values)
                weights.append(weight)
                self.data[weight.name] = random_blocks(name, blocks, seed)
        constant = Weight("constant", FORMATS[0], *CONSTANT.shape)
        near, far = weights[:-1], weights[-1:]  # the last one in a buffer of its own
        self.layout: Layout = place([constant, *near], SHARD_WORDS, far)
        self.program: Any = SimpleNamespace(
            weights=near, far_tables=far, constants={"constant": CONSTANT}
        )
        self.file: Any = SimpleNamespace(rows=self.rows, rows_at_once=self.rows_at_once)
        self.shards = [device.buffer(4 * words, "a shard") for words in self.layout.shard_words]

    def start(self) -> Iterator[float]:
        return upload_weights(self.device, self.shards, self.layout, self.program, self.file)

    def rows_at_once(self, name: str, size: int) -> int:
        return size // FORMATS_BY_NAME[name.split()[0]].bytes

    def rows(self, name: str, start: int, count: int) -> np.ndarray:
        size = FORMATS_BY_NAME[name.split()[0]].bytes  # a row is one block
        return self.data[name][start * size :][: count * size]

    def plane(self, shard: int, word: int, count: int) -> np.ndarray:
        """Words of a shard, read back."""
        target = self.device.buffer(4 * count, "what a test reads")
        self.device.copy(self.shards[shard], target, 4 * word, 4 * count)
        found = np.frombuffer(self.device.read(target, 0, 4 * count), np.uint32).copy()
        self.device.free(target)
        return found


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upload]:
    monkeypatch.setattr(upload, "SLICE_BYTES", SLICE_BYTES)
    device = open_device()
    assert device is not None
    made = Upload(device)
    yield made
    device.free(*made.shards)
    device.finish()


@pytest.mark.parametrize("submit_bytes", [1, 64 << 20], ids=["a slice a submit", "one submit"])
def test_every_weight_arrives(
    made: Upload, submit_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload, "SUBMIT_BYTES", submit_bytes)
    fractions = list(made.start())
    assert len(made.shards) > 1
    assert len(fractions) > 4 * len(PLANES)
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0

    for weight in (*made.program.weights, *made.program.far_tables):
        placement = made.layout.placements[weight.name]
        planes = pack(made.data[weight.name], weight.format, weight.rows)
        used_of_parts = [-(-weight.rows * part.size // 4) for part in PLANES[weight.format.name]]
        grid = [plane.size for plane in planes[len(used_of_parts) :]]
        sizes = zip(placement.planes, planes, used_of_parts + grid, strict=True)
        for word, plane, used in sizes:
            found = made.plane(placement.shard, word, used)
            np.testing.assert_array_equal(found, plane[:used], weight.name)
    placement = made.layout.placements["constant"]
    found = made.plane(placement.shard, placement.planes[0], CONSTANT.size)
    np.testing.assert_array_equal(found.view(np.float32), CONSTANT[0])


@pytest.fixture
def carriers(made: Upload, monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """How often each buffer of a slice was made and not freed; where `"refuse"` is one, all but ten
    are refused."""
    left: Counter[Any] = Counter()
    filled, free = RenderingDevice.filled, RenderingDevice.free

    def count(self: RenderingDevice, data: Any, what: str) -> Any:
        if left["refuse"] and len(left) > 10:
            raise DeviceMemoryError("no room")
        buffer = filled(self, data, what)
        left[int(buffer)] += 1
        return buffer

    def drop(self: RenderingDevice, *buffers: Any) -> None:
        left.subtract(int(buffer) for buffer in buffers if int(buffer) in left)
        free(self, *buffers)

    monkeypatch.setattr(RenderingDevice, "filled", count)
    monkeypatch.setattr(RenderingDevice, "free", drop)
    return left


@pytest.mark.parametrize("steps", [0, 1, 7, 1000], ids=lambda steps: f"after {steps} slices")
def test_one_given_up_frees_what_was_on_its_way(
    made: Upload, carriers: Counter[Any], steps: int
) -> None:
    uploading = made.start()
    for _ in zip(range(steps), uploading, strict=False):
        pass
    started = time.perf_counter()
    uploading.close()  # type: ignore[attr-defined]
    assert time.perf_counter() - started < 0.5
    assert steps == 0 or carriers
    assert not +carriers


def test_a_refused_buffer_ends_the_upload_and_frees_the_others(
    made: Upload, carriers: Counter[Any]
) -> None:
    carriers["refuse"] = 1
    with pytest.raises(DeviceMemoryError, match="no room"):
        for _ in made.start():
            pass
    assert +carriers == Counter(refuse=1)
