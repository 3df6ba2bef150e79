"""What the Vulkan driver under Godot's device can do; Godot itself only reports what it uses.

The loader library is in the process already, for Godot; its functions take Godot's own handles.
"""

import ctypes

LOADERS = ("libvulkan.so.1", "libvulkan.so", "vulkan-1.dll")
NAME_BYTES = 256  # VK_MAX_EXTENSION_NAME_SIZE
MEMORY_TYPES = 32  # VK_MAX_MEMORY_TYPES
MEMORY_HEAPS = 16  # VK_MAX_MEMORY_HEAPS
DEVICE_LOCAL = 1  # VK_MEMORY_HEAP_DEVICE_LOCAL_BIT


class _ExtensionProperties(ctypes.Structure):
    """VkExtensionProperties"""

    _fields_ = (("name", ctypes.c_char * NAME_BYTES), ("version", ctypes.c_uint32))


_ENUMERATE_EXTENSIONS = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_uint32),
    ctypes.POINTER(_ExtensionProperties),
)


class _MemoryHeap(ctypes.Structure):
    """VkMemoryHeap"""

    _fields_ = (("size", ctypes.c_uint64), ("flags", ctypes.c_uint32))


class _MemoryProperties(ctypes.Structure):
    """VkPhysicalDeviceMemoryProperties; a type is two words."""

    _fields_ = (
        ("type_count", ctypes.c_uint32),
        ("types", ctypes.c_uint32 * (2 * MEMORY_TYPES)),
        ("heap_count", ctypes.c_uint32),
        ("heaps", _MemoryHeap * MEMORY_HEAPS),
    )


_GET_MEMORY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_MemoryProperties))


def device_extensions(instance: int, physical_device: int) -> frozenset[str]:
    """Names of the extensions of a VkPhysicalDevice made by a VkInstance; empty where there is no
    loader."""
    address = function_address(instance, b"vkEnumerateDeviceExtensionProperties")
    if address is None:
        return frozenset()
    enumerate_extensions = _ENUMERATE_EXTENSIONS(address)
    count = ctypes.c_uint32()
    if enumerate_extensions(physical_device, None, ctypes.byref(count), None):
        return frozenset()
    found = (_ExtensionProperties * count.value)()
    if enumerate_extensions(physical_device, None, ctypes.byref(count), found):
        return frozenset()
    return frozenset(properties.name.decode("ascii") for properties in found[: count.value])


def device_memory(instance: int, physical_device: int) -> int:
    """Bytes of the largest heap that is the device's own; 0 where there is no loader."""
    address = function_address(instance, b"vkGetPhysicalDeviceMemoryProperties")
    if address is None:
        return 0
    found = _MemoryProperties()
    _GET_MEMORY(address)(physical_device, ctypes.byref(found))
    heaps = found.heaps[: found.heap_count]
    return max((int(heap.size) for heap in heaps if heap.flags & DEVICE_LOCAL), default=0)


def function_address(instance: int, name: bytes) -> int | None:
    """A layer or a wrapped loader may export nothing but vkGetInstanceProcAddr."""
    library = _loader()
    if library is None:
        return None
    ask = library.vkGetInstanceProcAddr
    ask.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    ask.restype = ctypes.c_void_p
    address: int | None = ask(instance, name)
    return address


def _loader() -> ctypes.CDLL | None:
    for name in LOADERS:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None
