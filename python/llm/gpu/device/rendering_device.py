"""The GPU through Godot's RenderingDevice. The only file of this stage that knows Godot.

A process has one local device, made by the worker thread and recorded on by no other for life:
Godot stamps the thread on creation and refuses the rest. Only making buffers, shaders and pipelines
may happen elsewhere. Making many devices crashes drivers, so it is kept until shutdown and shared
by all models.
"""

import os
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cached_property
from typing import Any

import godot
from godot import PackedByteArray, RenderingServer
from godot.compute import ComputeTable, play
from llm.errors import DeviceError, DeviceMemoryError
from llm.gpu.device.vulkan import device_extensions, device_memory

STORAGE_BUFFER = 8  # RenderingDevice.UNIFORM_TYPE_STORAGE_BUFFER
LIMIT_SHARED_MEMORY = 27  # RenderingDevice.LIMIT_MAX_COMPUTE_SHARED_MEMORY_SIZE
COMPUTE_STAGE = 4  # RenderingDevice.SHADER_STAGE_COMPUTE
DEVICE_ADDRESS = 1  # RenderingDevice.BUFFER_CREATION_DEVICE_ADDRESS_BIT
SUPPORTS_ADDRESSES = 6  # RenderingDevice.SUPPORTS_BUFFER_DEVICE_ADDRESS
PHYSICAL_DEVICE = 1  # RenderingDevice.DRIVER_RESOURCE_PHYSICAL_DEVICE
INSTANCE = 2  # RenderingDevice.DRIVER_RESOURCE_TOPMOST_OBJECT: with Vulkan, its VkInstance
SOFTWARE_DRIVERS = ("llvmpipe", "swiftshader")
MAX_BUFFER_BYTES = 1 << 30  # a safe storage range on every desktop driver
COMPILERS = min(4, os.cpu_count() or 1)  # threads; more gained nothing on 16 cores


class RenderingDevice:
    """Buffers, kernels and dispatches on one GPU, all on its thread. Raises DeviceError."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._thread = threading.get_ident()
        self._compilers = ThreadPoolExecutor(COMPILERS, "llm-compiler")
        self._pipelines: dict[str, Future[tuple[Any, Any]]] = {}  # name -> (shader, pipeline)
        self._refused: list[Any] = []  # shaders without a pipeline
        self.name: str = device.get_device_name()
        self.vendor: str = device.get_device_vendor_name()
        self.is_cpu = any(driver in self.name.lower() for driver in SOFTWARE_DRIVERS)

    @property
    def has_addresses(self) -> bool:
        """Whether kernels can read buffers through their addresses."""
        return bool(self._device.has_feature(SUPPORTS_ADDRESSES))

    @cached_property
    def extensions(self) -> frozenset[str]:
        """The Vulkan extensions that the driver has, whether Godot uses them or not; none where
        Godot runs on another interface."""
        instance, physical_device = self._vulkan
        return device_extensions(instance, physical_device) if instance else frozenset()

    @property
    def _vulkan(self) -> tuple[int, int]:
        """The handles of the instance and of the device; zeros on another interface."""
        if RenderingServer.get_current_rendering_driver_name() != "vulkan":
            return 0, 0
        instance, physical_device = (
            int(self._device.get_driver_resource(kind, godot.RID(), 0))
            for kind in (INSTANCE, PHYSICAL_DEVICE)
        )
        return instance, physical_device

    @cached_property
    def memory(self) -> int:
        """Bytes of the memory that the GPU reads fastest, used or not; 0 where nobody says."""
        instance, physical_device = self._vulkan
        return device_memory(instance, physical_device) if instance else 0

    def buffer(self, size: int, what: str, *, addressed: bool = False, bound: bool = True) -> Any:
        """A storage buffer of `size` bytes, contents undefined. DeviceMemoryError when refused.

        `addressed` ones have an address() where the device has addresses; elsewhere they are plain.
        Those that are never `bound` in a set may be larger.
        """
        if bound and size > MAX_BUFFER_BYTES:
            raise DeviceMemoryError(
                f"{what} needs {size:,} bytes in one buffer; at most {MAX_BUFFER_BYTES:,} are safe"
            )
        creation = DEVICE_ADDRESS if addressed and self.has_addresses else 0
        return self._buffer(size, what, PackedByteArray(), creation)

    def filled(self, data: PackedByteArray, what: str) -> Any:
        """A storage buffer that holds `data`. In any thread; DeviceMemoryError when refused.

        Godot stages the data in memory that it keeps for life, one piece as large for each thread.
        """
        return self._buffer(len(data), what, data, 0)

    def _buffer(self, size: int, what: str, data: PackedByteArray, creation: int) -> Any:
        made = self._device.storage_buffer_create(size, data, 0, creation)
        if not made.is_valid():
            used = self._device.get_memory_usage(2)
            raise DeviceMemoryError(
                f"{what} needs {size:,} bytes, which {self.name} refused; {used:,} are in use: "
                "pick a smaller model or a shorter context_length"
            )
        return made

    def address(self, buffer: Any) -> int:
        """Where an addressed buffer begins, as kernels name it (a GLSL buffer_reference).

        Kernels read and write there unseen by Godot, which orders such a dispatch only by the
        buffers that are bound. Raises DeviceError where the device has no addresses.
        """
        if not self.has_addresses:
            raise DeviceError(f"{self.name} has no buffer addresses")
        return int(self._device.buffer_get_device_address(buffer))

    def staging(self, size: int) -> PackedByteArray:
        """Engine memory of `size` bytes that write() takes; its view() is writable."""
        return PackedByteArray(size)

    def table(self, rows: Iterable[tuple[Any, ...]]) -> ComputeTable:
        """Dispatches to play: (pipeline, set, push constants, groups, barrier before it)."""
        return ComputeTable(rows)

    def clear(self, buffer: Any, size: int) -> None:
        self._device.buffer_clear(buffer, 0, size)

    def write(self, buffer: Any, offset: int, data: PackedByteArray, size: int) -> None:
        """Copies the first `size` bytes of `data` into the buffer at `offset` (multiples of 4)."""
        if self._device.buffer_update(buffer, offset, size, data):
            raise DeviceError(f"{self.name} refused an upload of {size:,} bytes")

    def read(self, buffer: Any, offset: int, size: int) -> bytes:
        """Runs what is recorded, waits, and returns bytes.

        Godot stages a copy of the whole source buffer: of large ones, see read_part().
        """
        data = self._device.buffer_get_data(buffer, offset, size)
        if len(data) != size:
            raise DeviceError(
                f"{self.name} returned {len(data):,} of {size:,} bytes; it may be lost"
            )
        return bytes(data)

    def read_part(self, buffer: Any, offset: int, size: int) -> bytes:
        """As read(), of a large buffer: through one of the part's size. DeviceMemoryError."""
        target = self.buffer(size, "a copy that is to be read")
        try:
            self.copy(buffer, target, offset, size)
            return self.read(target, 0, size)
        finally:
            self.free(target)

    def copy(self, source: Any, target: Any, offset: int, size: int, *, to: int = 0) -> None:
        """Copies `size` bytes at `offset` of one buffer to `to` of another, on the GPU."""
        self._device.buffer_copy(source, target, offset, to, size)

    def compile(self, name: str, glsl: str) -> None:
        """Has a kernel compiled in another thread, once a process; pipeline() waits for it."""
        if name not in self._pipelines:
            self._pipelines[name] = self._compilers.submit(self._compile, name, glsl)

    def is_compiled(self, name: str, patience: float = 0.0) -> bool:
        """Whether the compiling of a kernel is over; waits for that for so many seconds."""
        return not wait([self._pipelines[name]], patience).not_done

    def pipeline(self, name: str, glsl: str) -> Any:
        """The compute pipeline of a kernel. DeviceError with the compiler's log."""
        self.compile(name, glsl)
        return self._pipelines[name].result()[1]

    def shader(self, name: str) -> Any:
        """The shader of a compiled pipeline, as uniform sets want it."""
        return self._pipelines[name].result()[0]

    def uniform_set(self, buffers: Sequence[Any], shader: Any) -> Any:
        """Set 0 with a storage buffer at each binding, in order."""
        uniforms = []
        for binding, buffer in enumerate(buffers):
            uniform = godot.RDUniform()
            uniform.set_uniform_type(STORAGE_BUFFER)
            uniform.set_binding(binding)
            uniform.add_id(buffer)
            uniforms.append(uniform)
        made = self._device.uniform_set_create(uniforms, shader, 0)
        if not made.is_valid():
            raise DeviceError(f"{self.name} refused a uniform set of {len(buffers)} buffers")
        return made

    def play(self, table: ComputeTable) -> None:
        """Records every dispatch of the table; nothing runs before finish() or read()."""
        play(self._device, table)

    @property
    def shared_memory(self) -> int:
        """Bytes that one group may have in common."""
        return int(self._device.limit_get(LIMIT_SHARED_MEMORY))

    def finish(self) -> None:
        """Runs what is recorded and waits for it."""
        self._device.submit()
        self._device.sync()

    def free(self, *resources: Any) -> None:
        """Frees buffers and sets; their memory returns at the next finish() or read()."""
        for resource in resources:
            self._device.free_rid(resource)

    def close(self) -> None:
        self._compilers.shutdown(cancel_futures=True)
        for made in self._pipelines.values():
            if not made.cancelled() and made.exception() is None:
                shader, pipeline = made.result()
                self.free(pipeline, shader)
        self.free(*self._refused)
        self._pipelines.clear()
        self._device.free()

    @property
    def belongs_here(self) -> bool:
        return threading.get_ident() == self._thread

    def _compile(self, name: str, glsl: str) -> tuple[Any, Any]:
        source = godot.RDShaderSource()
        source.set_stage_source(COMPUTE_STAGE, glsl)
        spirv = self._device.shader_compile_spirv_from_source(source)
        problem = spirv.get_stage_compile_error(COMPUTE_STAGE)
        if problem:
            raise DeviceError(f"kernel {name} does not compile: {' '.join(problem.split())}")
        shader = self._device.shader_create_from_spirv(spirv, name)
        if not shader.is_valid():
            raise DeviceError(f"{self.name} refused the shader of kernel {name}")
        pipeline = self._device.compute_pipeline_create(shader, [])
        if not pipeline.is_valid():
            self._refused.append(shader)  # only the device's thread may free it
            raise DeviceError(f"{self.name} refused the pipeline of kernel {name}")
        return shader, pipeline


_opened: RenderingDevice | None = None


def open_device() -> RenderingDevice | None:
    """This process's device, made on first use; None where Godot has no RenderingDevice."""
    global _opened
    if _opened is None:
        made = RenderingServer.create_local_rendering_device()
        _opened = None if made is None else RenderingDevice(made)
    elif not _opened.belongs_here:
        raise DeviceError("the GPU device belongs to another thread; load models on the worker")
    return _opened


def close_device() -> None:
    """Frees the device; called by its own thread when that ends."""
    global _opened
    if _opened is not None:
        _opened.close()
        _opened = None
