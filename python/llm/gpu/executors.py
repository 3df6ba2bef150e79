"""Picks the executor that a model runs on."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llm.errors import DeviceError, RequestError
from llm.files.model_file import ModelFile
from llm.gpu.program import Executor, Program

if TYPE_CHECKING:
    from llm.gpu.device.rendering_device import RenderingDevice

NAMES = ("auto", "reference", "dispatch", "persistent")

# Tokens of a prompt that run at once: on a CPU, where they take longest, so few that a stop or a
# quitting game is not kept waiting for much longer than a third of a second.
MATRIX_ROWS = 512
GPU_ROWS = 256
CPU_ROWS = 64

# Seconds to wait for the steps of a GPU. A driver that knows them takes a tenth, one that
# never saw them ten seconds and more: the first words need not wait for that.
STEPS_PATIENCE = 1.0

Load = Callable[[Program, ModelFile], Generator[float, None, Executor]]


@dataclass(frozen=True, slots=True)
class ExecutorChoice:
    """`load` brings a program's weights to the executor; it yields the fraction done."""

    load: Load
    chunk_rows: int  # tokens of a prompt that should run at once


def choose_executor(name: str, *, is_patient: bool = False) -> ExecutorChoice:
    """The executor of that name on this machine.

    "auto" takes the GPU where Godot has a RenderingDevice, numpy elsewhere; a GPU runs whole tokens
    in one dispatch where a probe allows it, a software driver never. Unless `is_patient`, it starts
    with operations where that takes long to compile. Raises RequestError for other names,
    DeviceError where the machine has not what is named.
    """
    if name not in NAMES:
        raise RequestError(f"executor is '{name}'; there are {', '.join(NAMES)}")
    if name != "reference":
        from llm.gpu.device.rendering_device import open_device

        device = open_device()
        if device is not None:
            return ExecutorChoice(_loader(device, name, is_patient=is_patient), _rows(device))
        if name != "auto":
            raise DeviceError(
                f"executor is '{name}', but Godot has no RenderingDevice here (--headless, or the "
                "Compatibility renderer); run with a display, or use executor 'reference'"
            )
    from llm.gpu.reference.executor import ReferenceExecutor

    return ExecutorChoice(ReferenceExecutor.load, CPU_ROWS)


def _rows(device: "RenderingDevice") -> int:
    from llm.gpu.device.matrices import usable_tiles

    if device.is_cpu:
        return CPU_ROWS
    return MATRIX_ROWS if usable_tiles(device) else GPU_ROWS


def _loader(device: "RenderingDevice", name: str, *, is_patient: bool) -> Load:
    from llm.gpu.dispatch.executor import DispatchExecutor
    from llm.gpu.fused.executor import FusedExecutor
    from llm.gpu.fused.persistent import PersistentExecutor

    def load_dispatch(program: Program, file: ModelFile) -> Generator[float, None, Executor]:
        kind = DispatchExecutor if device.is_cpu else FusedExecutor
        return (yield from kind.load(program, file, device))

    def load_persistent(program: Program, file: ModelFile) -> Generator[float, None, Executor]:
        patience = None if is_patient or name == "persistent" else STEPS_PATIENCE
        executor = yield from PersistentExecutor.load(program, file, device, patience)
        if name == "persistent" and executor.name != name:
            executor.close()
            raise DeviceError(
                f"executor is 'persistent', but on {device.name} this model's groups do not run "
                "together; use executor 'auto' or 'dispatch'"
            )
        return executor

    is_plain = name == "dispatch" or (name == "auto" and device.is_cpu)
    return load_dispatch if is_plain else load_persistent
