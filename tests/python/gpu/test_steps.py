"""The rows of a step's matrices are shared out so that every weight is multiplied exactly once."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from support.glsl_constants import constants

from llm.files.formats import FORMATS
from llm.gpu.operations import Tensor, Weight
from llm.gpu.shader_source import expand
from llm.gpu.steps import (
    PART_WEIGHTS,
    SEGMENT,
    SEGMENT_WORDS,
    SUBGROUPS,
    Epilogue,
    Grid,
    Product,
    Prologue,
    RowPlan,
    parts_of,
    plan_rows,
)

ITEM_PARTS = constants(expand("steps"))["ITEM_PARTS"]
Counts = NDArray[np.int64]


def multiplied(
    heights: Sequence[int],
    width: int,
    grid: Grid,
    plan: RowPlan,
    befores: Sequence[int],
    *,
    is_gated: bool = False,
) -> tuple[list[Counts], int]:
    """How often each (row, part) of each matrix is multiplied, and parts of the busiest lane.

    The index arithmetic of step_product.glslh and step_rows.glslh, for all lanes of a pass; of a
    gated step the two matrices have the same rows, which count once.
    """
    n_parts = width // PART_WEIGHTS
    lanes = np.arange(grid.subgroup_size)
    at_once = grid.subgroup_size >> plan.lanes_shift
    own, lane = lanes >> plan.lanes_shift, lanes & ((1 << plan.lanes_shift) - 1)
    subgroups = np.arange(SUBGROUPS * grid.groups)
    work = np.zeros((len(subgroups), grid.subgroup_size), np.int64)
    counts = []
    for height, passes, before in zip(heights, plan.passes, befores, strict=True):
        count = np.zeros((height, n_parts), np.int64)
        first_pass = np.where(
            subgroups >= before, subgroups - before, subgroups + len(subgroups) - before
        )
        for subgroup, first in enumerate(first_pass):
            for number in range(first, passes, len(subgroups)):
                rows = 1 if is_gated else plan.rows
                start = number * rows * at_once + own
                row_parts = ITEM_PARTS // plan.rows
                items = -(-n_parts // (row_parts << plan.lanes_shift))
                for row in (start, start + at_once)[:rows]:
                    for turn in range(items * row_parts):
                        part = (turn << plan.lanes_shift) + lane
                        is_in = (part < n_parts) & (row < height)
                        np.add.at(count, (row[is_in], part[is_in]), 1)
                        work[subgroup] += part < n_parts
        counts.append(count)
    return counts, int(work.max())


GRIDS = [Grid(1, 8), Grid(1, 32), Grid(3, 8), Grid(16, 32), Grid(37, 8), Grid(132, 32), Grid(2, 64)]
SHAPES = [
    ([1], 32),
    ([7], 96),
    ([640], 1024),
    ([640], 2080),
    ([1025, 257, 255], 640),
    ([384, 128, 129], 256),
    ([1103], 64),
    ([1024, 1, 1], 32),
]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize(("heights", "width"), SHAPES, ids=str)
def test_every_weight_is_multiplied_once(heights: list[int], width: int, grid: Grid) -> None:
    plan = plan_rows(heights, width, grid, is_gated=False)
    counts, _ = multiplied(heights, width, grid, plan, befores_of(heights, width, grid))
    for count in counts:
        assert (count == 1).all()


def befores_of(heights: Sequence[int], width: int, grid: Grid) -> list[int]:
    """SEGMENT_BEFORE of each matrix, as a step packs it."""
    weights = [Weight("", FORMATS[0], height, width) for height in heights]
    outputs = [Tensor(0, 1, height) for height in heights]
    step = Product(Prologue.PLAIN, width, weights, outputs)
    words = step.pack(lambda _weight: [0], grid)
    return [int(words[SEGMENT + number * SEGMENT_WORDS + 4]) for number in range(len(heights))]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize(("heights", "width"), [([1], 32), ([257], 640), ([2048], 96)], ids=str)
def test_both_rows_of_a_gated_step(heights: list[int], width: int, grid: Grid) -> None:
    """A lane has the same row of both matrices, so a pass covers half as many."""
    plan = plan_rows(heights * 2, width, grid, is_gated=True)
    assert plan.rows == 2
    assert plan.passes[0] == plan.passes[1]
    one = RowPlan(plan.lanes_shift, plan.rows, plan.passes[:1])
    counts, _ = multiplied(heights, width, grid, one, [0], is_gated=True)
    assert (counts[0] == 1).all()


@pytest.mark.parametrize("grid", GRIDS[:4], ids=str)
@pytest.mark.parametrize(("heights", "width"), SHAPES[:6], ids=str)
def test_the_busiest_lane_has_fewest_weights(heights: list[int], width: int, grid: Grid) -> None:
    chosen = plan_rows(heights, width, grid, is_gated=False)
    found = multiplied(heights, width, grid, chosen, befores_of(heights, width, grid))[1]
    for rows in (1, 2):
        for shift in range(grid.subgroup_size.bit_length()):
            of_pass = rows * grid.subgroup_size >> shift
            passes = tuple(-(-height // of_pass) for height in heights)
            befores = [sum(passes[:n]) % (SUBGROUPS * grid.groups) for n in range(len(heights))]
            plan = RowPlan(shift, rows, passes)
            assert found <= multiplied(heights, width, grid, plan, befores)[1]


@pytest.mark.parametrize(
    ("heights", "width", "is_gated", "plan"),
    [
        pytest.param([262144], 640, False, RowPlan(2, 2, (16384,)), id="many short rows"),
        pytest.param([640], 2048, False, RowPlan(5, 1, (640,)), id="few long rows"),
        pytest.param([512, 512], 640, True, RowPlan(5, 2, (512, 512)), id="gated"),
    ],
)
def test_plans(heights: list[int], width: int, is_gated: bool, plan: RowPlan) -> None:
    assert plan_rows(heights, width, Grid(132, 32), is_gated=is_gated) == plan


def test_equal_steps_have_one_label() -> None:
    weight = Weight("a", FORMATS[12], 640, 1024)
    steps = [
        Product(prologue, 1024, [weight], [Tensor(0, 1, 640)], epilogue)
        for prologue, epilogue in ((Prologue.PLAIN, Epilogue.STORE), (Prologue.NORM, Epilogue.BEST))
    ]
    labels = [step.label for step in steps]
    assert labels == ["plain, 640 q4_k x 1024, store", "norm, 640 q4_k x 1024, best"]


@pytest.mark.parametrize(
    ("most", "kv_heads", "grid", "expected"),
    [
        pytest.param(32, 1, Grid(132, 32), 32, id="as many as there is room for"),
        pytest.param(32, 8, Grid(132, 32), 16, id="a group each"),
        pytest.param(32, 1, Grid(132, 16), 16, id="a lane each"),
        pytest.param(32, 4, Grid(1, 32), 1, id="at least one"),
        pytest.param(5, 1, Grid(132, 32), 5, id="as asked"),
    ],
)
def test_parts_of(most: int, kv_heads: int, grid: Grid, expected: int) -> None:
    assert parts_of(most, kv_heads, grid) == expected
