"""Finds the architecture that a file asks for."""

from collections.abc import Callable
from dataclasses import dataclass

from llm.errors import UnsupportedModelError
from llm.files.gguf import GgufFile
from llm.gpu.program import Program
from llm.models import gemma3, gemma3n, gemma4, llama


@dataclass(frozen=True, slots=True)
class Limits:
    """What one node asks of a model."""

    context: int  # most tokens of a sequence
    max_rows: int  # most tokens a run
    max_outputs: int  # most rows of logits a run


ARCHITECTURES: dict[str, Callable[[GgufFile, int, int, int], Program]] = {
    "gemma3": gemma3.program,
    "gemma3n": gemma3n.program,
    "gemma4": gemma4.program,
    "llama": llama.program,
}


def make_program(file: GgufFile, limits: Limits) -> Program:
    """The program of a model file. Raises UnsupportedModelError, ModelFileError."""
    name = file.metadata.str("general.architecture")
    build = ARCHITECTURES.get(name)
    if build is None:
        raise UnsupportedModelError(file.path, "general.architecture", name, ARCHITECTURES)
    return build(file, limits.context, limits.max_rows, limits.max_outputs)
