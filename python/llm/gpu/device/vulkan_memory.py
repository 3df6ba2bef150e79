"""The GPUs of this machine and how much memory they have, asked of Vulkan without an engine.

Godot tells nothing of the kind, so this makes an instance of its own for a moment.
"""

import ctypes
from dataclasses import dataclass
from typing import Any

from llm.gpu.device.vulkan import device_extensions, function_address

_INSTANCE, _APPLICATION = 1, 0  # VkStructureType
_MEMORY_PROPERTIES_2, _MEMORY_BUDGET = 1000059006, 1000237000
_VERSION_1_1 = 1 << 22 | 1 << 12
_BUDGET = "VK_EXT_memory_budget"
_DEVICE_LOCAL = 1  # VkMemoryHeapFlagBits
# VkPhysicalDeviceType, in the order that Godot prefers them.
_DISCRETE, _INTEGRATED, _VIRTUAL, _CPU = 2, 1, 3, 4
_PREFERRED = (_DISCRETE, _INTEGRATED, _VIRTUAL, _CPU)


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """Bytes. A CPU's are RAM."""

    device: str
    is_cpu: bool
    total: int
    free: int | None  # where the driver says


class _Application(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_uint32),
        ("engine", ctypes.c_char_p),
        ("engine_version", ctypes.c_uint32),
        ("api_version", ctypes.c_uint32),
    )


class _InstanceInfo(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
        ("application", ctypes.POINTER(_Application)),
        ("layer_count", ctypes.c_uint32),
        ("layers", ctypes.c_void_p),
        ("extension_count", ctypes.c_uint32),
        ("extensions", ctypes.c_void_p),
    )


class _Properties(ctypes.Structure):
    """The beginning of VkPhysicalDeviceProperties, and room for its limits."""

    _fields_ = (
        ("versions_and_ids", ctypes.c_uint32 * 4),
        ("kind", ctypes.c_uint32),
        ("name", ctypes.c_char * 256),
        ("rest", ctypes.c_uint64 * 256),
    )


class _Heap(ctypes.Structure):
    _fields_ = (("size", ctypes.c_uint64), ("flags", ctypes.c_uint32))


class _Budget(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("budget", ctypes.c_uint64 * 16),
        ("usage", ctypes.c_uint64 * 16),
    )


class _MemoryProperties(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("type_count", ctypes.c_uint32),
        ("types", ctypes.c_uint32 * 2 * 32),
        ("heap_count", ctypes.c_uint32),
        ("heaps", _Heap * 16),
    )


def device_memory() -> DeviceMemory | None:
    """Of the device that Godot would take; None where there is none, or no driver."""
    application = _Application(_APPLICATION, None, b"llm", 1, None, 0, _VERSION_1_1)
    info = _InstanceInfo(type=_INSTANCE, application=ctypes.pointer(application))
    made = ctypes.c_void_p()
    if _call(0, b"vkCreateInstance", ctypes.byref(info), None, ctypes.byref(made)):
        return None
    instance = made.value or 0
    try:
        found = [_memory(instance, device) for device in _devices(instance)]
    finally:
        _call(instance, b"vkDestroyInstance", made, None)
    return min(found, key=lambda one: one[0], default=(0, None))[1]


def _call(instance: int, name: bytes, *arguments: Any) -> int:
    """What a function of Vulkan returns; no success where there is no such function."""
    address = function_address(instance, name)
    if address is None:
        return -1
    result: int = ctypes.CFUNCTYPE(ctypes.c_int32)(address)(*arguments)
    return result


def _devices(instance: int) -> list[int]:
    count = ctypes.c_uint32()
    enumerate_devices = b"vkEnumeratePhysicalDevices"
    handle = ctypes.c_void_p(instance)
    if _call(instance, enumerate_devices, handle, ctypes.byref(count), None):
        return []
    devices = (ctypes.c_void_p * count.value)()
    if _call(instance, enumerate_devices, handle, ctypes.byref(count), devices):
        return []
    return [device for device in devices[: count.value] if device]


def _memory(instance: int, device: int) -> tuple[int, DeviceMemory]:
    """The place of a device among those that Godot prefers, and its memory."""
    handle = ctypes.c_void_p(device)
    properties = _Properties()
    _call(instance, b"vkGetPhysicalDeviceProperties", handle, ctypes.byref(properties))
    budget = _Budget(type=_MEMORY_BUDGET)
    memory = _MemoryProperties(type=_MEMORY_PROPERTIES_2)
    knows_budget = _BUDGET in device_extensions(instance, device)
    if knows_budget:
        memory.next = ctypes.cast(ctypes.pointer(budget), ctypes.c_void_p)
    _call(instance, b"vkGetPhysicalDeviceMemoryProperties2", handle, ctypes.byref(memory))
    heaps: list[Any] = memory.heaps[: memory.heap_count]
    local = [number for number, heap in enumerate(heaps) if heap.flags & _DEVICE_LOCAL]
    free = sum(max(0, budget.budget[number] - budget.usage[number]) for number in local)
    kind = properties.kind
    return _PREFERRED.index(kind) if kind in _PREFERRED else len(_PREFERRED), DeviceMemory(
        properties.name.decode("utf-8", "replace"),
        kind == _CPU,
        sum(heaps[number].size for number in local),
        free if knows_budget else None,
    )
