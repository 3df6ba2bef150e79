"""The dispatch loop in C, on the local RenderingDevice, with a kernel whose result tells the order
of its rows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pytest
from support.godot_log import engine_errors

from godot import FreedObjectError, RDShaderSource, RDUniform, RenderingDevice, RenderingServer
from godot.compute import ComputeTable, play

COUNT = 1009  # a prime: no workgroup size divides it
KERNEL = """#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) restrict buffer Values { uint values[]; };
layout(push_constant, std430) uniform Params { uint count; uint factor; uint summand; } params;

void main() {
	uint i = gl_GlobalInvocationID.x;
	if (i < params.count) {
		values[i] = values[i] * params.factor + params.summand;
	}
}
"""


class Bench:
    """A device with a pipeline of KERNEL and two buffers, each in a set of its own."""

    def __init__(self) -> None:
        self.device = RenderingServer.create_local_rendering_device()
        source = RDShaderSource()
        source.set_stage_source(RenderingDevice.SHADER_STAGE_COMPUTE, KERNEL)
        spirv = self.device.shader_compile_spirv_from_source(source)
        assert spirv.get_stage_compile_error(RenderingDevice.SHADER_STAGE_COMPUTE) == ""
        self.shader = self.device.shader_create_from_spirv(spirv)
        self.pipeline = self.device.compute_pipeline_create(self.shader)
        self.buffers = [
            self.device.storage_buffer_create(4 * COUNT, bytes(4 * COUNT)) for _ in range(2)
        ]
        self.sets = [self._make_set(buffer) for buffer in self.buffers]

    def _make_set(self, buffer: Any) -> Any:
        uniform = RDUniform()
        uniform.uniform_type = RenderingDevice.UNIFORM_TYPE_STORAGE_BUFFER
        uniform.binding = 0
        uniform.add_id(buffer)
        return self.device.uniform_set_create([uniform], self.shader, 0)

    def row(
        self,
        factor: int,
        summand: int,
        buffer: int = 0,
        groups: int = -(-COUNT // 64),
        barrier: bool = True,
    ) -> Any:
        constants = struct.pack("<3I", COUNT, factor, summand)
        return self.pipeline, self.sets[buffer], constants, (groups, 1, 1), barrier

    def run(self, table: ComputeTable, *span: int) -> None:
        play(self.device, table, *span)
        self.device.submit()
        self.device.sync()

    def read(self, buffer: int = 0) -> list[int]:
        return list(self.device.buffer_get_data(self.buffers[buffer]).view().cast("I"))

    def close(self) -> None:
        for rid in (*self.sets, *self.buffers, self.pipeline, self.shader):
            self.device.free_rid(rid)
        self.device.free()


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.close()


def test_rows_run_in_order_with_barriers(bench: Bench) -> None:
    rows = [bench.row(3, i) for i in range(7)]
    bench.run(ComputeTable(rows))
    expected = 0
    for i in range(7):
        expected = expected * 3 + i
    assert bench.read() == [expected] * COUNT


def test_sets_change_between_rows(bench: Bench) -> None:
    bench.run(ComputeTable([bench.row(1, 5, buffer=i % 2, barrier=i > 1) for i in range(5)]))
    assert bench.read(0) == [15] * COUNT
    assert bench.read(1) == [10] * COUNT


def test_a_table_is_replayed(bench: Bench) -> None:
    table = ComputeTable([bench.row(1, 1)])
    for _ in range(3):
        bench.run(table)
    assert bench.read() == [3] * COUNT


def test_a_span_of_rows_is_played(bench: Bench) -> None:
    table = ComputeTable([bench.row(1, 10**i) for i in range(4)])
    bench.run(table, 1, 3)
    assert bench.read() == [110] * COUNT


def test_groups_and_push_constants_are_changed_in_place(bench: Bench) -> None:
    table = ComputeTable([bench.row(1, 1)])
    table.set_groups(0, (1, 1, 1))
    table.set_push_constant(0, struct.pack("<I", 9), offset=8)
    bench.run(table)
    assert bench.read() == [9] * 64 + [0] * (COUNT - 64)


def test_an_empty_table_records_nothing(bench: Bench) -> None:
    play(bench.device, ComputeTable([]))
    bench.run(ComputeTable([bench.row(1, 1)]))
    assert bench.read() == [1] * COUNT


def test_bad_spans_and_rows_are_refused(bench: Bench) -> None:
    table = ComputeTable([bench.row(1, 1)])
    with pytest.raises(IndexError):
        play(bench.device, table, 0, 2)
    with pytest.raises(IndexError):
        table.set_groups(1, (1, 1, 1))
    with pytest.raises(ValueError, match="bytes 12 to 20"):
        table.set_push_constant(0, bytes(8), offset=12)


def test_a_device_without_a_list_is_an_error(bench: Bench) -> None:
    open_list = bench.device.compute_list_begin()
    with engine_errors() as errors, pytest.raises(RuntimeError, match="compute list"):
        play(bench.device, ComputeTable([bench.row(1, 1)]))
    assert errors
    assert open_list >= 0
    bench.device.compute_list_end()


def test_a_freed_device_is_noticed() -> None:
    device = RenderingServer.create_local_rendering_device()
    device.free()
    with pytest.raises(FreedObjectError):
        play(device, ComputeTable([]))
