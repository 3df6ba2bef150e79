"""Finds out whether a device multiplies cooperative matrices, by doing it once.

Godot does not turn the extension on, but drivers that have it take the kernels. The others are not
asked: what a driver does with a kernel that it does not know is its own affair.
"""

from weakref import WeakKeyDictionary

from llm.gpu.device.probes import probe
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.kernels.matrix_tiles import FEW_TILES, MATRIX_TILES, Tile

EXTENSION = "VK_KHR_cooperative_matrix"
FRAGMENTS_OF = "NVIDIA"

_found: WeakKeyDictionary[RenderingDevice, tuple[Tile, ...]] = WeakKeyDictionary()


def usable_tiles(device: RenderingDevice) -> tuple[Tile, ...]:
    """The tiles that products on this device may use; none on software drivers, which have faster
    kernels. A driver may still refuse the pipeline of a tile."""
    if device.is_cpu:
        return ()
    if device not in _found:
        sizes = {tile.subgroup_size for tile in MATRIX_TILES}
        right = {size for size in sizes if multiplies(device, size)}
        fit = [tile for tile in MATRIX_TILES if tile.subgroup_size in right]
        few = FEW_TILES if fit and has_fragments(device) else ()
        _found[device] = tuple(
            tile for tile in (*fit, *few) if tile.shared_memory <= device.shared_memory
        )
    return _found[device]


def multiplies(device: RenderingDevice, subgroup_size: int) -> bool:
    """Whether subgroups have this size and multiply matrices rightly."""
    if EXTENSION not in device.extensions:
        return False
    return probe(device, f"probe_matrices_{subgroup_size}") == 1


def has_fragments(device: RenderingDevice) -> bool:
    """Whether lanes have the elements of matrices that matrix_fragments.glslh says. Only drivers of
    the vendor whose matrices these are get asked, as others may not take the size."""
    if EXTENSION not in device.extensions or FRAGMENTS_OF not in device.vendor:
        return False
    return probe(device, "probe_fragments") == 1
