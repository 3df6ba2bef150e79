"""What a program takes of memory, before anything is loaded."""

from dataclasses import dataclass

from llm.files.formats import FORMATS
from llm.gpu.device.placement import place
from llm.gpu.operations import Weight
from llm.gpu.program import Program

WORD = 4  # bytes
F32 = FORMATS[0]


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes; `tables` are those that a run reads a row a token of, where they are not among the
    weights: they stay in the mapped file."""

    weights: int
    cache: int
    activations: int
    tables: int

    @property
    def total(self) -> int:
        return self.weights + self.cache + self.activations


def on_gpu(program: Program) -> Footprint:
    """Weights as kernels read them; without the scratch of kernels, which is some megabytes."""
    constants = [Weight(name, F32, *value.shape) for name, value in program.constants.items()]
    layout = place([*constants, *program.weights], far=program.far_tables)
    return _footprint(program, sum(layout.shard_words) * WORD)


def on_numpy(program: Program) -> Footprint:
    """Weights in float32."""
    weights = sum(weight.rows * weight.columns for weight in program.weights) * WORD
    return _footprint(program, weights)


def _footprint(program: Program, weights: int) -> Footprint:
    tables = sum(table.size for table in program.tables) if program.tables_in_ram else 0
    activations = program.record(program.max_rows, program.max_outputs).work_floats * WORD
    return Footprint(weights, program.cache_bytes, activations, tables)
