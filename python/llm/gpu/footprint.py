"""What a program takes of memory, before anything is loaded."""

from dataclasses import dataclass

from llm.files.formats import FORMATS
from llm.gpu.device.placement import place
from llm.gpu.operations import PAGE_CELLS, Weight
from llm.gpu.program import Program

WORD = 4  # bytes
F32 = FORMATS[0]


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes."""

    weights: int
    cache: int
    activations: int

    @property
    def total(self) -> int:
        return self.weights + self.cache + self.activations


def on_gpu(program: Program) -> Footprint:
    """Weights as kernels read them; without the scratch of kernels, which is some megabytes."""
    constants = [Weight(name, F32, *value.shape) for name, value in program.constants.items()]
    layout = place([*constants, *program.weights])
    return Footprint(sum(layout.shard_words) * WORD, _cache(program), _activations(program))


def on_numpy(program: Program) -> Footprint:
    """Weights in float32."""
    weights = sum(weight.rows * weight.columns for weight in program.weights) * WORD
    return Footprint(weights, _cache(program), _activations(program))


def _cache(program: Program) -> int:
    """Of one sequence as long as the context."""
    return -(-program.context // PAGE_CELLS) * program.page_words * WORD


def _activations(program: Program) -> int:
    return program.record(program.max_rows, program.max_outputs).work_floats * WORD
