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
    """A weight in RAM, in its block format."""

    def __init__(self, file: ModelFile, weight: Weight) -> None:
        found = file.rows(weight.tensor, weight.first_row, weight.rows)  # a view where it can be
        self._blocks = found.reshape(weight.rows, -1)  # uint8
        self._format = GGMLQuantizationType(weight.format.id)

    def rows(self, ids: Sequence[int]) -> Floats:
        """Some of its rows, in float32: (ids, K)."""
        chosen = self._blocks[np.asarray(ids)]
        return np.asarray(quants.dequantize(chosen, self._format), np.float32)


def fit_device(program: Program, device: "RenderingDevice") -> bool:
    """Whether a device has room for the tables, and can read buffers of their size.

    The memory of software drivers is the host's, where the file is already.
    """
    if device.is_cpu or not device.has_addresses:
        return False
    sizes = [_bytes(table) for table in program.tables]
    weights = sum(map(_bytes, program.weights))
    return (
        all(table.format.name in PLANES for table in program.tables)
        and max(sizes, default=0) <= MAX_FAR_BYTES
        and weights + sum(sizes) + program.cache_bytes <= SHARE * device.memory
    )


def _bytes(weight: Weight) -> int:
    return weight.format.size_of(weight.rows * weight.columns)


def host_tables(program: Program, file: ModelFile) -> dict[str, HostTable]:
    """Those of a program that are in RAM, by name."""
    tables = program.tables if program.tables_in_ram else ()
    return {table.name: HostTable(file, table) for table in tables}
