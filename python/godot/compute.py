"""A table of compute dispatches, built once and played as one compute list, all of it in C.

table = ComputeTable([(pipeline, uniform_set, push_constant, (gx, gy, gz), barrier_before), …])
play(rendering_device, table)
rendering_device.submit()
"""

from __future__ import annotations

from . import api
from .interface import ffi, lib
from .methods import method_bind
from .objects import pointer_of
from .packed import PackedByteArray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from typing_extensions import Buffer

    Row = tuple[int, int, Buffer, tuple[int, int, int], bool]

# Fields of ComputeMethods (native/interface/compute.h) -> methods of RenderingDevice.
_METHODS = {
    "begin": "compute_list_begin",
    "bind_pipeline": "compute_list_bind_compute_pipeline",
    "bind_uniform_set": "compute_list_bind_uniform_set",
    "set_push_constant": "compute_list_set_push_constant",
    "dispatch": "compute_list_dispatch",
    "add_barrier": "compute_list_add_barrier",
    "end": "compute_list_end",
}

PUSH_CONSTANT_UNIT = 16  # bytes

_methods: Any = None


def _load_methods() -> Any:
    global _methods
    if _methods is None:
        known = api.members_of("RenderingDevice").methods
        methods = ffi.new("ComputeMethods *")
        for field, name in _METHODS.items():
            setattr(methods, field, method_bind("RenderingDevice", name, known[name][0]))
        _methods = methods
    return _methods


class ComputeTable:
    """Rows of (pipeline RID, uniform set RID, push constant, groups (x, y, z), barrier before it).

    The RIDs stay the caller's. A push constant is padded to a multiple of 16 bytes, which is how
    the engine counts the size of a shader's block; empty means that the shader has none.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        rows = list(rows)
        self._rows = ffi.new("ComputeRow[]", max(len(rows), 1))
        self._length = len(rows)
        self._push_constants: list[PackedByteArray] = []
        for i, (pipeline, uniform_set, push_constant, groups, barrier_before) in enumerate(rows):
            row = self._rows[i]
            row.pipeline = int(pipeline)
            row.uniform_set = int(uniform_set)
            row.groups = groups
            row.barrier_before = barrier_before
            given = bytes(push_constant)
            data = PackedByteArray(given + bytes(-len(given) % PUSH_CONSTANT_UNIT))
            if len(data):
                row.push_constant = data.memory
                row.push_constant_size = len(data)
            self._push_constants.append(data)

    def __len__(self) -> int:
        return self._length

    def set_groups(self, row: int, groups: tuple[int, int, int]) -> None:
        """Changes how many workgroups a row dispatches."""
        self._rows[self._position(row)].groups = groups

    def set_push_constant(self, row: int, data: Buffer, offset: int = 0) -> None:
        """Overwrites bytes of a row's push constant from `offset` on, in place."""
        view = self._push_constants[self._position(row)].view()
        source = memoryview(data).cast("B")
        if offset < 0 or offset + source.nbytes > view.nbytes:
            span = f"bytes {offset} to {offset + source.nbytes}"
            raise ValueError(f"row {row}: {span} of a push constant of {view.nbytes}")
        view[offset : offset + source.nbytes] = source

    def _position(self, row: int) -> int:
        if not 0 <= row < self._length:
            raise IndexError(f"row {row} of a table of {self._length}")
        return row


def play(
    rendering_device: Any, table: ComputeTable, start: int = 0, end: int | None = None
) -> None:
    """Records rows start … end - 1 into one compute list, on the thread that owns the device."""
    end = len(table) if end is None else end
    if not 0 <= start <= end <= len(table):
        raise IndexError(f"rows {start} to {end} of a table of {len(table)}")
    device = pointer_of(rendering_device)
    if not lib.compute_play(_load_methods(), device, table._rows + start, end - start):
        raise RuntimeError(
            "the device gave no compute list; is another one still open, or is this another thread?"
        )
