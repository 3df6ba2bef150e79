"""Finds out what a device can by having it do it, once a process.

A probing kernel leaves what it found in the state's first pick.
"""

from weakref import WeakKeyDictionary

import numpy as np

from llm.errors import DeviceError
from llm.gpu import state
from llm.gpu.kernels import pack_params
from llm.gpu.rendering_device import RenderingDevice
from llm.gpu.shader_source import expand

_found: WeakKeyDictionary[RenderingDevice, dict[str, int]] = WeakKeyDictionary()


def probe(device: RenderingDevice, kernel: str) -> int:
    """What the probing kernel of that name found; 0 where it does not compile."""
    known = _found.setdefault(device, {})
    if kernel not in known:
        known[kernel] = _run(device, kernel)
    return known[kernel]


def _run(device: RenderingDevice, kernel: str) -> int:
    try:
        pipeline = device.pipeline(kernel, expand(kernel))
    except DeviceError:
        return 0
    size = state.STATE_WORDS * 4
    weights, others = device.buffer(size, "a probe"), device.buffer(size, "a probe")
    try:
        device.clear(others, size)
        buffers = [weights, weights, *[others] * 6]  # not one: the first two are declared readonly
        uniform_set = device.uniform_set(buffers, device.shader(kernel))
        row = (pipeline, uniform_set, pack_params(kernel), (1, 1, 1), False)
        device.play(device.table([row]))
        words = np.frombuffer(device.read(others, 0, size), np.uint32)
    finally:
        device.free(weights, others)  # and with them the set
    return int(words[state.PICK_IDS])
