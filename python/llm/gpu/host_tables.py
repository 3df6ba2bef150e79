"""Tables of which a run reads a row a token, such as per-layer embeddings: half of a small model.

As no product reads them, they need not be where the products are. A device that has room for them
has them in its memory; else they stay in the mapped file, and the host brings the rows of a run
(docs/decisions/0030).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from gguf import GGMLQuantizationType, quants

from llm.files.model_file import ModelFile
from llm.files.repack import PLANES
from llm.gpu.operations import Weight
from llm.gpu.program import Floats, Program

if TYPE_CHECKING:
    from llm.gpu.device.rendering_device import RenderingDevice

MAX_FAR_BYTES = (1 << 32) - (1 << 24)  # of a table: large drivers still give as much in one piece
SHARE = 0.5  # of a device's memory that a model with its tables may take: the rest is the game's


class HostTable:
    """A table in RAM, as its file holds it: quantised, it would take memory that it does not take
    so."""

    def __init__(self, file: ModelFile, weight: Weight) -> None:
        block_format, found = file.stored(weight.name)
        self._blocks = found.reshape(weight.rows, -1)  # uint8
        self._format = GGMLQuantizationType(block_format.id)

    def rows(self, ids: Sequence[int]) -> Floats:
        """Some of its rows, in float32: (ids, K)."""
        chosen = self._blocks[np.asarray(ids)]
        return np.asarray(quants.dequantize(chosen, self._format), np.float32)


def fit_device(program: Program, device: "RenderingDevice") -> bool:
    """Whether a device has room for the tables, and can read buffers of their size.

    The memory of software drivers is the host's, where the file is already.
    """
    is_apart = device.has_addresses and not device.is_cpu
    return fit_memory(program, device.memory if is_apart else 0)


def fit_memory(program: Program, memory: int) -> bool:
    """Whether the tables fit a device of so many bytes of its own that has addresses."""
    sizes = [table.size for table in program.tables]
    weights = sum(weight.size for weight in program.weights)
    return (
        all(table.format.name in PLANES for table in program.tables)
        and max(sizes, default=0) <= MAX_FAR_BYTES
        and weights + sum(sizes) + program.cache_bytes <= SHARE * memory
    )


def host_tables(program: Program, file: ModelFile) -> dict[str, HostTable]:
    """Those of a program that are in RAM, by name."""
    tables = program.tables if program.tables_in_ram else ()
    return {table.name: HostTable(file, table) for table in tables}
