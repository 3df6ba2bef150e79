"""Picks the executor that a model runs on."""

from collections.abc import Generator
from typing import TYPE_CHECKING

from llm.errors import DeviceError, RequestError
from llm.files.gguf import GgufFile
from llm.gpu.program import Executor, Program

if TYPE_CHECKING:
    from llm.gpu.rendering_device import RenderingDevice

NAMES = ("auto", "reference", "dispatch", "persistent")


def load_executor(name: str, program: Program, file: GgufFile) -> Generator[float, None, Executor]:
    """Loads a program's weights onto an executor; yields the fraction done, returns the executor.

    "auto" takes the GPU where Godot has a RenderingDevice, numpy elsewhere; a GPU runs whole tokens
    in one dispatch where a probe allows it, a software driver never. Raises LLMError.
    """
    if name not in NAMES:
        raise RequestError(f"executor is '{name}'; there are {', '.join(NAMES)}")
    if name != "reference":
        from llm.gpu.rendering_device import open_device

        device = open_device()
        if device is not None:
            return (yield from _load_on(device, name, program, file))
        if name != "auto":
            raise DeviceError(
                f"executor is '{name}', but Godot has no RenderingDevice here (--headless, or the "
                "Compatibility renderer); run with a display, or use executor 'reference'"
            )
    from llm.gpu.reference import ReferenceExecutor

    return (yield from ReferenceExecutor.load(program, file))


def _load_on(
    device: "RenderingDevice", name: str, program: Program, file: GgufFile
) -> Generator[float, None, Executor]:
    from llm.gpu.dispatch import DispatchExecutor
    from llm.gpu.persistent import PersistentExecutor

    if name == "dispatch" or (name == "auto" and device.is_cpu):
        return (yield from DispatchExecutor.load(program, file, device))
    executor = yield from PersistentExecutor.load(program, file, device)
    if name == "persistent" and executor.name != name:
        executor.close()
        raise DeviceError(
            f"executor is 'persistent', but on {device.name} this model's groups do not run "
            "together; use executor 'auto' or 'dispatch'"
        )
    return executor
