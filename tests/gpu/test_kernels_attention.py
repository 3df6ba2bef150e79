"""The key/value cache and attention, against numpy in float64 on the cache's own float16 values.

Software drivers take only small tiles of cooperative matrices; the kernel is the same.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.attention_case import Case, expected_of
from support.kernel_bench import KernelBench, Launch

import godot
from llm.gpu import state
from llm.gpu.device.lanes import has_lanes
from llm.gpu.device.matrices import multiplies
from llm.gpu.device.rendering_device import COMPUTE_STAGE
from llm.gpu.dispatch import launches
from llm.gpu.dispatch.launches import ceil_div
from llm.gpu.dispatch.launches_attend import (
    AttendDevice,
    AttendPlan,
    plan_attend,
)
from llm.gpu.kernels.attend_tiles import (
    SMALL_MATRIX_TILES,
    AttendMatrixTile,
    AttendTile,
    matrix_tile,
    plain_tile,
)
from llm.gpu.kernels.shader_source import expand
from llm.gpu.kernels.variants import KERNELS, add_attend_lanes, add_attend_tile
from llm.gpu.operations import PAGE_CELLS

Q = 0
Y = 1 << 19  # floats
PARTIALS = 1 << 20
PAGES = 2048  # words before the first page
PAGE_WORDS = 64  # of a page before its keys
SINKS = 40  # words of the weights before them
UNTOUCHED = np.float32(-7.5)
# Scores of size 10 or so keep 1e-6 of float32, and exp turns that into a share's relative error.
EXACT = 1e-5
HALF = 2.0**-11  # relative error of a share that was rounded to float16

Maker = Callable[[KernelBench, Case], AttendPlan]


CASES = [
    pytest.param(Case(4, 1, 256, 0, (0,)), id="the first token"),
    pytest.param(Case(4, 1, 256, 512, (700,)), id="one token, a window"),
    pytest.param(Case(4, 1, 256, 0, (1000,)), id="one token, a long context"),
    pytest.param(Case(4, 1, 256, 0, tuple(range(37))), id="a prompt"),
    pytest.param(Case(4, 1, 256, 16, tuple(range(50))), id="a prompt longer than the window"),
    pytest.param(Case(4, 1, 256, 100, tuple(range(90, 121))), id="the window begins to slide"),
    pytest.param(Case(8, 2, 64, 7, (300, 2, 127, 128, 129)), id="rows in no order"),
    pytest.param(Case(6, 2, 48, 5, tuple(range(20, 29))), id="three heads a group"),
    pytest.param(Case(2, 2, 512, 100, (511, 40)), id="the largest head, none shared"),
    pytest.param(Case(2, 1, 8, 0, (257,)), id="the smallest head"),
    pytest.param(Case(32, 1, 16, 1, (5, 6)), id="a window of one cell"),
    pytest.param(Case(4, 1, 32, 0, (130, 0, 64, 63, 500), True), id="several sequences"),
    pytest.param(Case(6, 2, 48, 70, (130, 7, 200), True), id="several, three heads a group"),
    pytest.param(Case(4, 1, 256, 16, tuple(range(50)), soft_cap=5.0), id="a soft cap"),
    pytest.param(Case(4, 1, 48, 0, tuple(range(130)), ahead=4096), id="a whole text"),
    pytest.param(Case(6, 2, 48, 12, tuple(range(75)), ahead=11), id="a window on both sides"),
    pytest.param(Case(6, 2, 48, 0, tuple(range(75)), ahead=99, alibi=8.0), id="alibi"),
    pytest.param(Case(4, 1, 64, 0, (700,), alibi=8.0), id="alibi of one token"),
    pytest.param(Case(4, 2, 64, 0, (0, 300), sinks=(-40.0, 0.5, 3.0, 90.0)), id="sinks"),
    pytest.param(Case(4, 2, 64, 20, (77,), sinks=(2.0, 0.5, -3.0, 9.0)), id="sinks, a window"),
]
MATRIX_CASES = [
    pytest.param(Case(4, 1, 32, 0, (0,)), id="the first token"),
    pytest.param(Case(2, 2, 32, 9, (300, 2, 127, 128, 129)), id="rows in no order, a window"),
    pytest.param(Case(6, 2, 32, 0, tuple(range(31))), id="three heads a group"),
    pytest.param(Case(8, 4, 16, 20, tuple(range(90, 121))), id="queries that fill no tile"),
    pytest.param(Case(32, 1, 16, 1, (5, 6)), id="a window of one cell"),
    pytest.param(Case(4, 1, 32, 0, (130, 0, 64, 63, 500), True), id="several sequences"),
    pytest.param(Case(2, 2, 32, 9, (300, 2, 127, 128, 129), soft_cap=5.0), id="a soft cap"),
    pytest.param(Case(4, 2, 32, 0, tuple(range(130)), ahead=4096), id="a whole text"),
    pytest.param(Case(6, 2, 32, 12, tuple(range(75)), ahead=11), id="a window on both sides"),
    pytest.param(Case(6, 2, 32, 0, tuple(range(75)), ahead=99, alibi=8.0), id="alibi"),
    pytest.param(Case(4, 2, 32, 0, (0, 300), sinks=(-40.0, 0.5, 3.0, 90.0)), id="sinks"),
]


def fill_cache(
    bench: KernelBench, case: Case, source: np.random.Generator, scale: float = 1.0
) -> np.ndarray:
    """Writes every cell up to the last position; keys and values (sequences, 2, cells, G, D)."""
    cells = max(case.positions) + 1
    shape = (max(case.sequences) + 1, 2, cells, case.kv_heads, case.head_size)
    floats = source.standard_normal(shape)
    floats[:, 0] *= scale
    halves = floats.astype(np.float16)
    put_cache(bench, halves)
    return halves


def put_cache(bench: KernelBench, halves: np.ndarray) -> None:
    """Pages of all sequences in any order, each with keys and values from word PAGE_WORDS on."""
    n_sequences, _, cells, *heads = halves.shape
    n_pages = ceil_div(cells, PAGE_CELLS)
    padded = np.full((n_sequences, 2, n_pages * PAGE_CELLS, *heads), np.nan, np.float16)
    padded[:, :, :cells] = halves
    pages = padded.reshape(n_sequences, 2, n_pages, -1)
    size = pages.shape[-1]  # words of keys and values together
    order = np.random.default_rng(cells).permutation(n_sequences * n_pages)
    starts = PAGES + order.reshape(n_sequences, n_pages) * (PAGE_WORDS + size)
    for sequence in range(n_sequences):
        table = np.zeros((n_pages, 4), np.uint32)
        table[:, 0] = starts[sequence] // 4
        bench.put("cache", 4 * table_of(sequence), table)
        for page, start in enumerate(starts[sequence].tolist()):
            words = pages[sequence, :, page].reshape(-1).view(np.uint32)
            bench.put("cache", start + PAGE_WORDS, words)
    tables = [table_of(sequence) for sequence in range(n_sequences)]
    bench.put_state(TABLES=tables if n_sequences > 1 else [*tables] * state.MAX_ROWS)


def table_of(sequence: int) -> int:
    """Quads."""
    return 5 + 20 * sequence


def on_software(_: KernelBench, case: Case) -> AttendPlan:
    sizes = case.heads, case.kv_heads, case.head_size, case.window
    device = AttendDevice(is_cpu=True)
    return plan_attend(*sizes, len(case.positions), device, are_apart=case.of_its_own)


def by_lanes(bench: KernelBench, case: Case) -> AttendPlan:
    if not has_lanes(bench.device):
        pytest.skip(f"{bench.device.name} has no lanes")
    kernel = add_attend_lanes(case.head_size)
    return AttendPlan(kernel, (case.heads, len(case.positions), 1), 1, by_lanes=True)


def by_tiles(_: KernelBench, case: Case) -> AttendPlan:
    return plan_of(case, plain_tile(case.head_size, case.queries), 1)


def by_parts(_: KernelBench, case: Case) -> AttendPlan:
    """More parts than are joined at once; some have no cells."""
    return plan_of(case, plain_tile(case.head_size, case.queries), 6)


def by_matrices(bench: KernelBench, case: Case) -> AttendPlan:
    return plan_of(case, matrix_tile_for(bench, case), 1)


def by_parts_of_matrices(bench: KernelBench, case: Case) -> AttendPlan:
    return plan_of(case, matrix_tile_for(bench, case), 6)


def plan_of(case: Case, tile: AttendTile, parts: int) -> AttendPlan:
    step = case.heads // case.kv_heads if case.of_its_own else tile.queries
    groups = parts, case.kv_heads, ceil_div(case.queries, step)
    return AttendPlan(add_attend_tile(tile), groups, step, tile)


def matrix_tile_for(bench: KernelBench, case: Case) -> AttendMatrixTile:
    found = next(tile for tile in SMALL_MATRIX_TILES if tile.head_size == case.head_size)
    if multiplies(bench.device, 32):
        large = matrix_tile(
            case.head_size,
            case.queries,
            subgroup_size=32,
            shared_memory=bench.device.shared_memory,
        )
        assert large is not None
        return large
    if not multiplies(bench.device, found.subgroup_size):
        pytest.skip(f"{bench.device.name} multiplies no cooperative matrices")
    return found


EVERY_WAY = [
    *[(make, case) for make in (on_software, by_tiles, by_parts) for case in CASES],
    *[(by_lanes, case) for case in CASES if case.values[0].has_lanes],
    *[(make, case) for make in (by_matrices, by_parts_of_matrices) for case in MATRIX_CASES],
]


def launches_of(
    bench: KernelBench, case: Case, plan: AttendPlan, q_stride: int, y_stride: int
) -> list[Launch]:
    values = PAGE_WORDS + case.side_words
    heads = {"heads": case.heads, "kv_heads": case.kv_heads}
    target = {"y": Y, "y_stride": y_stride}
    source = {"q": Q, "q_stride": q_stride, "k_cache": PAGE_WORDS, "v_cache": values, **heads}
    params: dict[str, Any] = {**source, **target, "window": case.window}
    params["soft_cap"] = case.soft_cap
    if plan.by_lanes:
        addresses = {"q": bench.address("work", Q), "cache_at": bench.address("cache", 0)}
        return [(plan.kernel, {**params, **addresses}, plan.groups)]
    params |= {"step": plan.step, "ahead": case.ahead, "alibi": case.alibi}
    params["sinks"] = SINKS if case.sinks else state.NONE
    if plan.tile is None:
        return [(plan.kernel, {**params, "head_size": case.head_size}, plan.groups)]
    found: list[Launch] = [(plan.kernel, {**params, "partials": PARTIALS}, plan.groups)]
    if plan.parts > 1:
        sizes = {"head_size": case.head_size, "queries": plan.tile.queries, "n_parts": plan.parts}
        sizes |= {"step": plan.step, "sinks": params["sinks"]}
        merge = {"partials": PARTIALS, **target, **heads, **sizes}
        found.append(("attend_merge", merge, plan.merge_groups))
    return found


def attend(bench: KernelBench, case: Case, plan: AttendPlan, q: np.ndarray) -> np.ndarray:
    """y (rows, heads, D) for q of that shape; what lies around y must not change."""
    rows, width = len(case.positions), case.heads * case.head_size
    strided = np.zeros((rows, width + 8), np.float32)
    strided[:, :width] = q.reshape(rows, width)
    bench.put("work", Q, strided)
    bench.put("work", Y, np.full((rows + 1, width + 4), UNTOUCHED))
    bench.put("work", PARTIALS, np.full(plan.partial_floats + 4, UNTOUCHED))
    bench.put_state(ROWS=rows, POSITIONS=case.positions)
    bench.put("weights", SINKS, np.array([*case.sinks, 0.0], np.float32))
    bench.run(launches_of(bench, case, plan, width + 8, width + 4))
    found = bench.floats(Y, rows + 1, width + 4)
    assert (found[:rows, width:] == UNTOUCHED).all()
    assert (found[rows] == UNTOUCHED).all()
    assert (bench.floats(PARTIALS + plan.partial_floats, 4) == UNTOUCHED).all()
    return found[:rows, :width].reshape(q.shape)


def queries_of(case: Case, source: np.random.Generator, scale: float = 1.0) -> np.ndarray:
    """Numbers that float16 holds, so that only shares are rounded; (rows, heads, D)."""
    shape = (len(case.positions), case.heads, case.head_size)
    q = source.standard_normal(shape) * (3.0 / np.sqrt(case.head_size))
    return q.astype(np.float16).astype(np.float32) * np.float32(scale)


@pytest.mark.parametrize(
    ("make", "case"),
    [pytest.param(make, *case.values, id=f"{make.__name__} {case.id}") for make, case in EVERY_WAY],
)
@pytest.mark.parametrize("spare_rows", [0, 13])
def test_attend(bench: KernelBench, make: Maker, case: Case, spare_rows: int) -> None:
    random = np.random.default_rng(case.head_size)
    halves = fill_cache(bench, case, random)
    q = queries_of(case, random)
    plan = make(bench, replace(case, positions=(*case.positions, *[9] * spare_rows)))
    found = attend(bench, case, plan, q)
    expected, magnitude = expected_of(case, q, halves)
    is_exact = not isinstance(plan.tile, AttendMatrixTile)
    assert (np.abs(found - expected) < EXACT + (0.0 if is_exact else HALF) * magnitude).all()


@pytest.mark.parametrize(
    "make", [on_software, by_lanes, by_tiles, by_parts, by_matrices, by_parts_of_matrices]
)
def test_attend_prefers_large_scores(bench: KernelBench, make: Maker) -> None:
    """Scores of +-600, beyond what exp can take: the softmax must be shifted by its greatest."""
    case = Case(2, 1, 32, 0, (299,))
    cells = np.zeros((1, 2, 300, 1, 32), np.float16)
    cells[0, 0, :, 0, 0] = np.linspace(-300.0, 300.0, 300)
    cells[0, 1, :, 0, 0] = np.arange(300)
    put_cache(bench, cells)
    q = np.zeros((1, 2, 32), np.float32)
    q[0, 0, 0], q[0, 1, 0] = 2.0, -2.0
    found = attend(bench, case, make(bench, case), q)
    assert np.allclose(found[0, :, 0], [298.98, 0.02], atol=0.02)  # steps of 2 * 600 / 299


@pytest.mark.parametrize("power", [-13, 14, 100])
def test_queries_beyond_float16(bench: KernelBench, power: int) -> None:
    """Matrices take float16: the largest float of a tile's queries decides by what power of two all
    of them are scaled. At 2^100 only the greatest score counts."""
    case = Case(4, 2, 32, 0, tuple(range(40, 49)))
    random = np.random.default_rng(power + 13)
    halves = fill_cache(bench, case, random, 2.0 ** -min(power, 14))
    q = queries_of(case, random, 2.0**power)
    found = attend(bench, case, by_matrices(bench, case), q)
    expected, magnitude = expected_of(case, q, halves)
    assert (np.abs(found - expected) < EXACT + HALF * magnitude).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("make", [by_lanes, by_tiles, by_parts, by_matrices])
def test_a_query_that_is_no_number(bench: KernelBench, make: Maker, bad: float) -> None:
    """It must show in the result of its own row, and in no other head of it."""
    case = Case(4, 2, 32, 0, (64,))
    random = np.random.default_rng(1)
    halves = fill_cache(bench, case, random)
    q = queries_of(case, random)
    expected, _ = expected_of(case, q, halves)
    q[0, 1, 5] = bad
    found = attend(bench, case, make(bench, case), q)
    assert np.isnan(found[0, 1]).all()
    assert np.abs(found[0, [0, 2, 3]] - expected[0, [0, 2, 3]]).max() < 2e-2


@pytest.mark.parametrize(
    "name", [name for name, kernel in KERNELS.items() if kernel.source == "attend_matrices.comp"]
)
def test_compile(bench: KernelBench, name: str) -> None:
    """The large tiles, too, which software drivers may refuse."""
    source = godot.RDShaderSource()
    source.set_stage_source(COMPUTE_STAGE, expand(name))
    compiled = bench.device._device.shader_compile_spirv_from_source(source)
    assert compiled.get_stage_compile_error(COMPUTE_STAGE) == ""


@pytest.mark.parametrize("width", [8, 64, 264, 1024])
def test_cache_store(bench: KernelBench, width: int) -> None:
    """Rows of two sequences, whose pages lie in any order; nothing else is written."""
    positions, sequences = [4, 0, 65, 127, 4], [0, 0, 0, 0, 1]
    pages = {(0, 0): 2, (0, 1): 0, (1, 0): 1}  # of each sequence
    random = np.random.default_rng(width)
    stride = width + 6
    rows = (10.0 ** random.uniform(-8, 4, (2, 5, stride))).astype(np.float32)
    rows[:, 0, :2] = 65504.0, 2.0**-24  # the largest and the smallest float16
    side = PAGE_CELLS * width // 2  # words
    bench.put("work", 0, rows)
    bench.put("cache", PAGES, np.full(3 * 2 * side, 0x7BFF7BFF, np.uint32))
    for (sequence, number), page in pages.items():
        start = np.array([(PAGES + page * 2 * side) // 4], np.uint32)
        bench.put("cache", 4 * (table_of(sequence) + number), start)
    tables = [table_of(sequence) for sequence in sequences]
    # of a sixth row, which does not count
    bench.put_state(ROWS=5, POSITIONS=[*positions, 5], TABLES=[*tables, table_of(0)])
    params = {
        "k": 0,
        "v": 5 * stride,
        "stride": stride,
        "width": width,
        "k_cache": 0,
        "v_cache": side,
    }
    groups = launches.thread_groups("cache_store", width // 2, 6)
    bench.run([("cache_store", params, groups)])
    words = bench.words("cache", PAGES, 3 * 2 * side)
    found = words.view(np.float16).reshape(3, 2, PAGE_CELLS, width)
    expected = np.full(found.shape, 65504.0, np.float16)
    for row, (position, sequence) in enumerate(zip(positions, sequences, strict=True)):
        page = pages[sequence, position // PAGE_CELLS]
        expected[page, :, position % PAGE_CELLS] = rows[:, row, :width].astype(np.float16)
    # drivers may round a float16 either way
    assert np.allclose(found, expected, rtol=2.0**-10, atol=2.0**-24)
