"""Finds out what a device can by having it do it, once a process.

A probing kernel leaves what it found in the state's first pick.
"""

from weakref import WeakKeyDictionary

import numpy as np

from llm.errors import DeviceError
from llm.gpu import state
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.kernels.addresses import words_of
from llm.gpu.kernels.shader_source import expand
from llm.gpu.kernels.variants import pack_params

_found: WeakKeyDictionary[RenderingDevice, dict[str, int]] = WeakKeyDictionary()


def probe(device: RenderingDevice, kernel: str, values: bytes = b"") -> int:
    """What the probing kernel of that name found; 0 where it does not compile.

    `values` is what a kernel reads that takes the address of some: a device with addresses.
    """
    known = _found.setdefault(device, {})
    if kernel not in known:
        known[kernel] = ask(device, kernel, values)
    return known[kernel]


def ask(device: RenderingDevice, kernel: str, values: bytes = b"") -> int:
    """As `probe`, each time anew."""
    try:
        pipeline = device.pipeline(kernel, expand(kernel))
    except DeviceError:
        return 0
    size = state.STATE_WORDS * 4
    weights = device.buffer(size, "a probe", addressed=bool(values))
    others = device.buffer(size, "a probe")
    try:
        device.clear(others, size)
        fields = {}
        if values:
            data = device.staging(len(values))
            data.view()[:] = values
            device.write(weights, 0, data, len(values))
            fields["values"] = words_of(device.address(weights))
        buffers = [weights, weights, *[others] * 6]  # not one: the first two are declared readonly
        uniform_set = device.uniform_set(buffers, device.shader(kernel))
        row = (pipeline, uniform_set, pack_params(kernel, **fields), (1, 1, 1), False)
        device.play(device.table([row]))
        words = np.frombuffer(device.read(others, 0, size), np.uint32)
    finally:
        device.free(weights, others)  # and with them the set
    return int(words[state.PICK_IDS])
