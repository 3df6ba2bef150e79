"""Rows of tables that are in RAM, on their way to the operations that read them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.host_tables import HostTable
from llm.gpu.operations import Embed
from llm.gpu.program import WORD
from llm.gpu.tape import Tape


class TableRows:
    """`work` is the buffer of the activations."""

    def __init__(self, device: RenderingDevice, work: Any, tables: Mapping[str, HostTable]) -> None:
        self._device = device
        self._work = work
        self._tables = tables

    def __bool__(self) -> bool:
        return bool(self._tables)

    def put(self, tape: Tape, tokens: Sequence[int]) -> None:
        """Does what the tape's embeddings from these tables would: they become no dispatch."""
        if not self._tables:
            return
        for op in tape.operations:
            if isinstance(op, Embed) and op.weight.name in self._tables:
                rows = self._tables[op.weight.name].rows(tokens) * np.float32(op.scale)
                data = self._device.staging(rows.nbytes)
                data.view()[:] = rows.tobytes()
                self._device.write(self._work, op.y.offset * WORD, data, rows.nbytes)
