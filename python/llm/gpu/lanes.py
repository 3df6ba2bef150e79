"""Finds out whether a software driver has subgroups of eight that load vectors, by doing it once.

Products of one column are much faster there: shaders/include/lanes.glslh says why.
"""

from weakref import WeakKeyDictionary

import numpy as np

from llm.errors import DeviceError
from llm.gpu import state
from llm.gpu.kernels import LANES, pack_params, words_of
from llm.gpu.rendering_device import RenderingDevice
from llm.gpu.shader_source import expand

PROBE = "probe_lanes"

_found: WeakKeyDictionary[RenderingDevice, bool] = WeakKeyDictionary()


def has_lanes(device: RenderingDevice) -> bool:
    """False on GPUs, where neighbouring threads load neighbouring values well without."""
    if not (device.is_cpu and device.has_addresses):
        return False
    if device not in _found:
        _found[device] = loads_lanes(device)
    return _found[device]


def loads_lanes(device: RenderingDevice) -> bool:
    """Whether subgroups are of eight and load rightly; the device must have addresses."""
    try:
        pipeline = device.pipeline(PROBE, expand(PROBE))
    except DeviceError:
        return False
    values = probe_values()
    size = state.STATE_WORDS * 4
    weights = device.buffer(size, "a probe", addressed=True)
    others = device.buffer(size, "a probe")
    try:
        data = device.staging(len(values))
        data.view()[:] = values
        device.write(weights, 0, data, len(values))
        buffers = [weights, weights, *[others] * 6]
        uniform_set = device.uniform_set(buffers, device.shader(PROBE))
        parameters = pack_params(PROBE, values=words_of(device.address(weights)))
        device.play(device.table([(pipeline, uniform_set, parameters, (1, 1, 1), False)]))
        words = np.frombuffer(device.read(others, 0, size), np.uint32)
    finally:
        device.free(weights, others)  # and with them the set
    return bool(words[state.PICK_IDS] == 1)


def probe_values() -> bytes:
    """What the probe reads: see probe_lanes.comp. 64 bytes, the last 8 unused."""
    i = np.arange(LANES)
    floats, halves = (i + 0.5).astype(np.float32), (-i).astype(np.float16)
    return (
        floats.tobytes() + halves.tobytes() + (250 - 11 * i).astype(np.uint8).tobytes() + bytes(8)
    )
