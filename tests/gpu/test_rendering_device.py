"""The GPU device: buffers that kernels read through their addresses, and compiling beside it."""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from llm.errors import DeviceError
from llm.gpu.device.rendering_device import RenderingDevice, open_device

COUNT = 1013  # a prime: no workgroup size divides it
# The sum of two numbers, each read through an address: out[i] = a[i] + b[count - 1 - i].
ADD = """#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
layout(local_size_x = 64) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint words[]; };
layout(set = 0, binding = 0, std430) restrict writeonly buffer Out { uint sums[]; };
layout(push_constant, std430) uniform Params { uvec2 a; uvec2 b; uint count; } params;

void main() {
	uint i = gl_GlobalInvocationID.x;
	if (i < params.count) {
		sums[i] = Words(params.a).words[i] + Words(params.b).words[params.count - 1u - i];
	}
}
"""


@pytest.fixture
def device() -> RenderingDevice:
    opened = open_device()
    assert opened is not None
    return opened


def upload(device: RenderingDevice, buffer: Any, words: np.ndarray) -> None:
    data = device.staging(words.nbytes)
    data.view()[:] = words.tobytes()
    device.write(buffer, 0, data, words.nbytes)


def test_kernel_reads_two_buffers_through_their_addresses(device: RenderingDevice) -> None:
    generator = np.random.default_rng(11)
    values = generator.integers(0, 2**31, (2, COUNT), np.uint32)
    inputs = [device.buffer(4 * COUNT, "an input", addressed=True) for _ in values]
    out = device.buffer(4 * COUNT, "the sums")
    for buffer, words in zip(inputs, values, strict=True):
        upload(device, buffer, words)
    device.finish()  # Godot does not see that the kernel reads them

    addresses = [device.address(buffer) for buffer in inputs]
    pipeline = device.pipeline("add_through_addresses", ADD)
    bound = device.uniform_set([out], device.shader("add_through_addresses"))
    params = struct.pack("<QQI", *addresses, COUNT)
    device.play(device.table([(pipeline, bound, params, (-(-COUNT // 64), 1, 1), False)]))
    found = np.frombuffer(device.read(out, 0, 4 * COUNT), np.uint32)
    device.free(*inputs, out)
    device.finish()

    np.testing.assert_array_equal(found, values[0] + values[1][::-1])


def test_a_part_of_a_buffer_is_read(device: RenderingDevice) -> None:
    words = np.arange(COUNT, dtype=np.uint32)
    buffer = device.buffer(words.nbytes, "words")
    data = device.staging(words.nbytes)
    data.view()[:] = words.tobytes()
    device.write(buffer, 0, data, words.nbytes)
    found = np.frombuffer(device.read_part(buffer, 4 * 17, 4 * 900), np.uint32)
    device.free(buffer)
    assert (found == words[17:917]).all()


def test_addresses_of_buffers_do_not_overlap(device: RenderingDevice) -> None:
    buffers = [device.buffer(size, "a buffer", addressed=True) for size in (4096, 4, 4096)]
    addresses = [device.address(buffer) for buffer in buffers]
    device.free(*buffers)
    device.finish()
    spans = sorted(zip(addresses, (4096, 4, 4096), strict=True))
    assert spans[0][0] > 0
    assert all(a + size <= b for (a, size), (b, _) in pairwise(spans))


def test_device_without_addresses_makes_plain_buffers(
    device: RenderingDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RenderingDevice, "has_addresses", False)
    buffer = device.buffer(4 * COUNT, "a buffer", addressed=True)
    with pytest.raises(DeviceError, match="has no buffer addresses"):
        device.address(buffer)
    device.free(buffer)
    device.finish()


def test_kernels_compile_in_other_threads_and_run(device: RenderingDevice) -> None:
    names = [f"add_compiled_{number}" for number in range(5)]
    for number, name in enumerate(names):
        device.compile(name, ADD.replace("sums[i] = ", f"sums[i] = {number}u + "))
    values = np.arange(2 * COUNT, dtype=np.uint32).reshape(2, COUNT)
    inputs = [device.buffer(4 * COUNT, "an input", addressed=True) for _ in values]
    out = device.buffer(4 * COUNT, "the sums")
    for buffer, words in zip(inputs, values, strict=True):
        upload(device, buffer, words)
    device.finish()

    params = struct.pack("<QQI", *(device.address(buffer) for buffer in inputs), COUNT)
    for number, name in enumerate(names):
        pipeline = device.pipeline(name, ADD)  # compiled already, so from the text before
        bound = device.uniform_set([out], device.shader(name))
        device.play(device.table([(pipeline, bound, params, (-(-COUNT // 64), 1, 1), False)]))
        found = np.frombuffer(device.read(out, 0, 4 * COUNT), np.uint32)
        np.testing.assert_array_equal(found, number + values[0] + values[1][::-1])
    device.free(*inputs, out)
    device.finish()


def test_a_kernel_that_does_not_compile_says_so_where_it_is_wanted(device: RenderingDevice) -> None:
    device.compile("wrong", "#version 450\nvoid main() { nonsense; }\n")
    for _ in range(2):
        with pytest.raises(DeviceError, match=r"kernel wrong does not compile: .*nonsense"):
            device.pipeline("wrong", "")
