"""Finds out whether a device multiplies cooperative matrices, by doing it once.

Godot does not turn the extension on, but drivers that have it take the kernels. The others are not
asked: what a driver does with a kernel that it does not know is its own affair.
"""

from weakref import WeakKeyDictionary

import numpy as np

from llm.errors import DeviceError
from llm.gpu import state
from llm.gpu.kernels import pack_params
from llm.gpu.matrix_tiles import MATRIX_TILES, MatrixTile
from llm.gpu.rendering_device import RenderingDevice
from llm.gpu.shader_source import expand

EXTENSION = "VK_KHR_cooperative_matrix"

_found: WeakKeyDictionary[RenderingDevice, tuple[MatrixTile, ...]] = WeakKeyDictionary()


def usable_tiles(device: RenderingDevice) -> tuple[MatrixTile, ...]:
    """The tiles that products on this device may use; none on software drivers, which have faster
    kernels. A driver may still refuse the pipeline of a tile."""
    if device.is_cpu:
        return ()
    if device not in _found:
        sizes = {tile.subgroup_size for tile in MATRIX_TILES}
        right = {size for size in sizes if multiplies(device, size)}
        _found[device] = tuple(
            tile
            for tile in MATRIX_TILES
            if tile.subgroup_size in right and tile.shared_memory <= device.shared_memory
        )
    return _found[device]


def multiplies(device: RenderingDevice, subgroup_size: int) -> bool:
    """Whether subgroups have this size and multiply matrices rightly."""
    if EXTENSION not in device.extensions:
        return False
    name = f"probe_matrices_{subgroup_size}"
    try:
        pipeline = device.pipeline(name, expand(name))
    except DeviceError:
        return False
    size = state.STATE_WORDS * 4
    weights, others = device.buffer(size, "a probe"), device.buffer(size, "a probe")
    try:
        buffers = [weights, weights, *[others] * 6]  # not one: the first two are declared readonly
        uniform_set = device.uniform_set(buffers, device.shader(name))
        row = (pipeline, uniform_set, pack_params(name), (1, 1, 1), False)
        device.play(device.table([row]))
        words = np.frombuffer(device.read(others, 0, size), np.uint32)
    finally:
        device.free(weights, others)  # and with them the set
    return bool(words[state.PICK_IDS] == 1)
