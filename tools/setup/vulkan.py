"""Which Vulkan driver the engine gets: that of the machine's GPU, else the software one."""

from collections.abc import Iterable, Mapping
from pathlib import Path

_MANIFEST_FOLDERS = (
    "/etc/vulkan/icd.d",
    "/usr/share/vulkan/icd.d",
    "/usr/local/share/vulkan/icd.d",
    "/usr/local/etc/vulkan/icd.d",
)
_USER_CHOICE = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES")


def has_gpu(manifests: Iterable[str], nodes: Iterable[str]) -> bool:
    """True when an installed driver (by its manifest's name) has a device node to drive.

    NVIDIA's own driver uses /dev/nvidia*, the one of WSL /dev/dxg, all others /dev/dri/renderD*.
    The software driver (lvp) needs no device, so it does not count.
    """
    names = list(nodes)
    for manifest in manifests:
        if manifest.startswith("lvp"):
            continue
        if manifest.startswith("nvidia"):
            prefix = "nvidia"
        elif manifest.startswith("dzn"):
            prefix = "dxg"
        else:
            prefix = "renderD"
        if any(name.startswith(prefix) for name in names):
            return True
    return False


def driver_environment(
    environment: Mapping[str, str], software: Path | None, gpu: bool
) -> dict[str, str]:
    """Variables for the engine's Vulkan loader; none where the user chose a driver.

    Without a GPU the software driver is the only one. Beside a GPU it is added as the last resort:
    the engine prefers hardware, but a virtual display can only be presented to in software.
    """
    if software is None or any(environment.get(name) for name in _USER_CHOICE):
        return {}
    return {"VK_ADD_DRIVER_FILES" if gpu else "VK_DRIVER_FILES": str(software)}


def machine_has_gpu() -> bool:
    """`has_gpu` of this machine."""
    manifests = [path.name for folder in _MANIFEST_FOLDERS for path in _entries(folder)]
    nodes = [path.name for folder in ("/dev", "/dev/dri") for path in _entries(folder)]
    return has_gpu(manifests, nodes)


def machine_has_driver() -> bool:
    """True when any driver is installed, a software one too."""
    return any(_entries(folder) for folder in _MANIFEST_FOLDERS)


def _entries(folder: str) -> list[Path]:
    try:
        return list(Path(folder).iterdir())
    except OSError:
        return []
