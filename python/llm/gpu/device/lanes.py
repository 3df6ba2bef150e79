"""Finds out whether a software driver has subgroups of eight that load vectors, by doing it once.

Products of one column are much faster there: shaders/include/lanes.glslh says why.
"""

import numpy as np

from llm.gpu.device.probes import probe
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.kernels.variants import LANES

PROBE = "probe_lanes"


def has_lanes(device: RenderingDevice) -> bool:
    """False on GPUs, where neighbouring threads load neighbouring values well without."""
    is_asked = device.is_cpu and device.has_addresses
    return is_asked and probe(device, PROBE, probe_values()) == 1


def probe_values() -> bytes:
    """What the probe reads: see probe_lanes.comp. 64 bytes, the last 8 unused."""
    i = np.arange(LANES)
    floats, halves = (i + 0.5).astype(np.float32), (-i).astype(np.float16)
    return (
        floats.tobytes() + halves.tobytes() + (250 - 11 * i).astype(np.uint8).tobytes() + bytes(8)
    )
