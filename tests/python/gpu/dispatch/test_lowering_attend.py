"""Attention as dispatches: parts are joined after they are there, and fit the scratch."""

import struct
from dataclasses import replace
from typing import Any

import pytest

from llm.files.formats import FORMATS
from llm.gpu import state
from llm.gpu.device.placement import place
from llm.gpu.dispatch.dispatches import Dispatch, Scratch
from llm.gpu.dispatch.hazards import HazardTracker
from llm.gpu.dispatch.launches_attend import AttendDevice
from llm.gpu.dispatch.lowering_attend import AttendLowering, attend_scratch_floats
from llm.gpu.dispatch.lowering_products import Addresses
from llm.gpu.kernels.variants import KERNELS
from llm.gpu.operations import Attend, CacheSlab, Tensor, Weight
from llm.gpu.program import ROWS_APART
from llm.gpu.tape import Tape

MATRICES = AttendDevice(is_cpu=False, subgroup_size=32, shared_memory=48 * 1024)
PLAIN = AttendDevice(is_cpu=False)
SOFTWARE = AttendDevice(is_cpu=True)
LANES = AttendDevice(is_cpu=True, has_lanes=True)
HEADS, KV_HEADS, HEAD_SIZE = 4, 1, 256
ROWS = 200
SLAB = CacheSlab(4096, 4096 + 64 * 128, HEAD_SIZE)
SINKS = Weight("sinks", FORMATS[0], 1, HEADS)
START = 8_000_000


def operation(rows: int, window: int = 0) -> Attend:
    width = HEADS * HEAD_SIZE
    q, y = Tensor(40, rows, width), Tensor(1_000_000, rows, width)
    return Attend(q, SLAB, y, HEADS, KV_HEADS, window)


def lower(op: Attend, device: AttendDevice, size: int | None = None) -> list[Dispatch]:
    if size is None:
        size = attend_scratch_floats(Tape(op.q.rows, 1, [op]), device)
    return AttendLowering(Scratch(START, size), device).lower(op)


def fields_of(dispatch: Dispatch) -> dict[str, int]:
    kernel = KERNELS[dispatch.kernel]
    values = struct.unpack(kernel.struct_format, dispatch.parameters)
    return dict(zip(kernel.params, values, strict=True))


@pytest.mark.parametrize("device", [MATRICES, PLAIN])
def test_parts_and_their_merge(device: AttendDevice) -> None:
    op = operation(1)
    attend, merge = lower(op, device)
    tile = KERNELS[attend.kernel].defines
    assert merge.kernel == "attend_merge"
    assert attend.reads == op.reads
    (partials,) = merge.reads
    assert attend.writes == (partials, *op.writes)
    assert merge.writes == op.writes
    parts, across, down = attend.groups
    assert across == KV_HEADS
    floats = tile["QUERIES"] * (HEAD_SIZE + 2) + 4
    assert partials.start == START * 4
    assert partials.end - partials.start == 4 * parts * across * down * floats
    source, target = fields_of(attend), fields_of(merge)
    expected = {
        "q": 40,
        "q_stride": 1024,
        "y": 1_000_000,
        "y_stride": 1024,
        "k_cache": SLAB.keys,
        "v_cache": SLAB.values,
        "heads": HEADS,
        "kv_heads": KV_HEADS,
        "window": 0,
        "ahead": 0,
        "partials": START,
        "step": tile["QUERIES"],
        "soft_cap": 0.0,
        "alibi": 0.0,
        "sinks": state.NONE,
    }
    assert source == expected
    same = ("y", "y_stride", "heads", "kv_heads", "partials", "step", "sinks")
    assert {name: target[name] for name in same} == {name: source[name] for name in same}
    assert target["head_size"] == HEAD_SIZE
    assert target["queries"] == tile["QUERIES"]
    assert target["n_parts"] == parts
    threads = merge.groups[0] * KERNELS["attend_merge"].group_size
    assert threads >= tile["QUERIES"] * HEAD_SIZE // 4
    assert merge.groups[1:] == attend.groups[1:]


@pytest.mark.parametrize("device", [MATRICES, PLAIN, SOFTWARE])
def test_rows_of_several_sequences(device: AttendDevice) -> None:
    """Groups share out the heads of a row, and the scratch has room for their parts."""
    op = operation(ROWS_APART)
    size = attend_scratch_floats(Tape(ROWS_APART, 1, [op]), device)
    attend, *merge = AttendLowering(Scratch(START, size), device).lower(op, are_apart=True)
    assert fields_of(attend)["step"] in (2, HEADS)
    assert all(fields_of(dispatch)["step"] == HEADS for dispatch in merge)


def test_by_lanes_reads_through_addresses() -> None:
    addresses = Addresses(work=0x1_0000_0000, cache=0x2_FFFF_FF00, shards=())
    op = replace(operation(3, window=7), soft_cap=30.0)
    lowering = AttendLowering(Scratch(START, 0), LANES, addresses)
    (found,) = lowering.lower(op, are_apart=True)
    assert (found.reads, found.writes) == (op.reads, op.writes)
    words = struct.unpack(KERNELS[found.kernel].struct_format, found.parameters)
    starts = [words[2 * i] + (words[2 * i + 1] << 32) for i in range(2)]
    assert starts == [0x1_0000_0000 + 4 * 40, 0x2_FFFF_FF00]
    width = HEADS * HEAD_SIZE
    places = (width, 1_000_000, width, SLAB.keys, SLAB.values, HEADS, KV_HEADS)
    assert words[4:] == (*places, op.window, op.soft_cap)


@pytest.mark.parametrize("others", [{"ahead": 5}, {"alibi": 8.0}, {"sinks": SINKS}])
def test_not_by_lanes_what_these_do_not_know(others: dict[str, Any]) -> None:
    addresses = Addresses(work=0, cache=0, shards=())
    op = replace(operation(1), **others)
    (found,) = AttendLowering(Scratch(START, 0), LANES, addresses).lower(op)
    assert found.kernel.startswith("attend_rows")


def test_sinks_are_read_where_they_lie() -> None:
    op = replace(operation(1), sinks=SINKS)
    layout = place([SINKS])
    size = attend_scratch_floats(Tape(1, 1, [op]), MATRICES)
    lowering = AttendLowering(Scratch(START, size), MATRICES)
    found = lowering.lower(op, layout.placements[SINKS.name])
    planes = layout.placements[SINKS.name].planes
    assert [fields_of(dispatch)["sinks"] for dispatch in found] == [planes[0]] * 2


def test_the_merge_waits_and_the_next_layer_too() -> None:
    hazards = HazardTracker()
    layers = [*lower(operation(1), MATRICES), *lower(operation(1), MATRICES)]
    waits = [hazards.add(dispatch.reads, dispatch.writes) for dispatch in layers]
    assert waits == [False, True, True, True]


@pytest.mark.parametrize("device", [MATRICES, PLAIN, SOFTWARE])
def test_one_dispatch_where_nothing_is_cut(device: AttendDevice) -> None:
    op = operation(200, window=1)
    (attend,) = lower(op, device)
    assert attend.reads == op.reads
    assert attend.writes == op.writes
    fields = fields_of(attend)
    assert (fields["window"], fields["heads"], fields["kv_heads"]) == (1, HEADS, KV_HEADS)
    assert fields.get("head_size", HEAD_SIZE) == HEAD_SIZE


@pytest.mark.parametrize("device", [MATRICES, PLAIN, SOFTWARE])
def test_the_scratch_of_the_largest_tape_serves_smaller_ones(device: AttendDevice) -> None:
    layers = [operation(ROWS), operation(ROWS, window=512)]
    size = attend_scratch_floats(Tape(ROWS, 1, list(layers)), device)
    assert (size == 0) == device.is_cpu
    for rows in (1, 2, 8, 31, 64, 128, ROWS):
        for window in (0, 512):
            lower(operation(rows, window), device, size)


def test_too_little_scratch() -> None:
    with pytest.raises(ValueError, match="partial attention needs"):
        lower(operation(1), MATRICES, 100)


def test_a_tape_without_attention_needs_no_scratch() -> None:
    assert attend_scratch_floats(Tape(ROWS, 1), MATRICES) == 0
