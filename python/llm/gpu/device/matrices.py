"""Finds out whether a device multiplies cooperative matrices, by doing it once.

Godot does not turn the extension on, but drivers that have it take the kernels. The others are not
asked: what a driver does with a kernel that it does not know is its own affair.
"""

from weakref import WeakKeyDictionary

from llm.gpu.device.probes import probe
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.kernels.matrix_tiles import MATRIX_TILES, MatrixTile

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
    return probe(device, f"probe_matrices_{subgroup_size}") == 1
