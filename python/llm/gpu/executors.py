"""Picks the executor that a model runs on."""

from collections.abc import Generator

from llm.errors import DeviceError, RequestError
from llm.files.gguf import GgufFile
from llm.gpu.program import Executor, Program

NAMES = ("auto", "reference", "dispatch")


def load_executor(name: str, program: Program, file: GgufFile) -> Generator[float, None, Executor]:
    """Loads a program's weights onto an executor; yields the fraction done, returns the executor.

    "auto" takes the GPU where Godot has a RenderingDevice, numpy elsewhere. Raises LLMError.
    """
    if name not in NAMES:
        raise RequestError(f"executor is '{name}'; there are {', '.join(NAMES)}")
    if name != "reference":
        from llm.gpu.rendering_device import open_device

        device = open_device()
        if device is not None:
            from llm.gpu.dispatch import DispatchExecutor

            return (yield from DispatchExecutor.load(program, file, device))
        if name == "dispatch":
            raise DeviceError(
                "executor is 'dispatch', but Godot has no RenderingDevice here (--headless, or the "
                "Compatibility renderer); run with a display, or use executor 'reference'"
            )
    from llm.gpu.reference import ReferenceExecutor

    return (yield from ReferenceExecutor.load(program, file))
