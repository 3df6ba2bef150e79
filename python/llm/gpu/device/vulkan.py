"""What the Vulkan driver under Godot's device can do; Godot itself only reports what it uses.

The loader library is in the process already, for Godot; its functions take Godot's own handles.
"""

import ctypes

LOADERS = ("libvulkan.so.1", "libvulkan.so", "vulkan-1.dll")
NAME_BYTES = 256  # VK_MAX_EXTENSION_NAME_SIZE


class _ExtensionProperties(ctypes.Structure):
    """VkExtensionProperties"""

    _fields_ = (("name", ctypes.c_char * NAME_BYTES), ("version", ctypes.c_uint32))


def device_extensions(physical_device: int) -> frozenset[str]:
    """Names of the extensions of a VkPhysicalDevice; empty where there is no loader."""
    loader = _loader()
    if loader is None:
        return frozenset()
    enumerate_extensions = loader.vkEnumerateDeviceExtensionProperties
    enumerate_extensions.argtypes = (
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.POINTER(ctypes.c_uint32),
        ctypes.POINTER(_ExtensionProperties),
    )
    enumerate_extensions.restype = ctypes.c_int32
    count = ctypes.c_uint32()
    if enumerate_extensions(physical_device, None, ctypes.byref(count), None):
        return frozenset()
    found = (_ExtensionProperties * count.value)()
    if enumerate_extensions(physical_device, None, ctypes.byref(count), found):
        return frozenset()
    return frozenset(properties.name.decode("ascii") for properties in found[: count.value])


def _loader() -> ctypes.CDLL | None:
    for name in LOADERS:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None
