"""A step's case and words together have the lanes multiply every weight exactly once."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from support.glsl_constants import constants

from llm.files.formats import FORMATS
from llm.gpu.kernels.shader_source import expand
from llm.gpu.operations import Activation, Tensor, Weight
from llm.gpu.steps.packing import SUBGROUPS, Grid
from llm.gpu.steps.steps import (
    LEAST_SHIFT,
    PART_WEIGHTS,
    PASS_PARTS,
    SEGMENT,
    SEGMENT_WORDS,
    Epilogue,
    NormParts,
    Product,
    Prologue,
    RowPlan,
    narrow_factor,
    plan_rows,
)

ITEM_PARTS = constants(expand("steps"))["ITEM_PARTS"]
F32, F16, Q5_0, Q8_0, Q4_K, Q6_K = (FORMATS[number] for number in (0, 1, 6, 8, 12, 14))
UNIT_PARTS = {"q4_k": 2}  # of the other formats 1
Counts = NDArray[np.int64]

SHARE = re.compile(r"Share share_(\d+) = next_share\((\d+)u, (\d+)u, (true|false)\);")
MULTIPLY = re.compile(
    r"multiply_(\w+)\(share_(\d+), (\d+)u, scale, (\d+)u, (\d+)u, (\d+)u, OUTPUT_(\w+), (\d+)u, "
    r"(?:true|false), best\);"
)


@dataclass(slots=True)
class Work:
    """What all lanes do for a step."""

    counts: list[Counts]  # how often each (row, part) of each matrix is multiplied
    busiest: float  # parts of the lane that multiplies most, with what its passes cost


def work_of(step: Product, grid: Grid, groups: int) -> Work:
    """The index arithmetic of step_product.glslh and step_rows.glslh, from a case and its words."""
    case = step.case(grid)
    words = step.pack(1, lambda _weight: [0], grid, groups)
    shares = {int(found[0]): found[1:] for found in SHARE.findall(case)}
    counts = [np.zeros((w.rows, w.columns // PART_WEIGHTS), np.int64) for w in step.weights]
    parts = np.zeros(SUBGROUPS * groups)
    for name, number, end, width, shift, n_rows, output, _activation in MULTIPLY.findall(case):
        start, share_end, is_gated = shares.pop(int(number))
        assert share_end == end
        assert int(width) == step.width
        assert output == step.epilogue.name
        assert (is_gated == "true") == (output == "GATED")
        for segment in range(int(start), int(end)):
            assert step.weights[segment].format.name == name
            at = SEGMENT + segment * SEGMENT_WORDS
            height, _, passes, before = (int(word) for word in words[at : at + 4])
            plan = RowPlan(int(shift), int(n_rows), (passes,))
            count, found = segment_work(
                height, step.width, grid, groups, plan, before, UNIT_PARTS.get(name, 1), output
            )
            counts[segment] += count
            if output == "GATED":
                assert step.weights[1].format.name == name
                counts[1] += count
            parts += found * narrow_factor(int(shift))
    assert not shares
    return Work(counts, parts.max())


def segment_work(
    height: int,
    width: int,
    grid: Grid,
    groups: int,
    plan: RowPlan,
    before: int,
    unit_parts: int,
    output: str,
) -> tuple[Counts, Counts]:
    """How often each (row, part) of a matrix is multiplied; the cost for each subgroup, in parts.

    Of a gated step both matrices have the same rows, which count once, but cost twice.
    """
    lanes = np.arange(grid.subgroup_size)
    at_once = grid.subgroup_size >> plan.lanes_shift
    own, lane = lanes >> plan.lanes_shift, lanes & ((1 << plan.lanes_shift) - 1)
    n_units = width // (PART_WEIGHTS * unit_parts)
    lane_units = -(-n_units // (1 << plan.lanes_shift))
    row_units = ITEM_PARTS // plan.rows // unit_parts
    assert row_units > 0
    subgroups = SUBGROUPS * groups
    count = np.zeros((height, width // PART_WEIGHTS), np.int64)
    cost = np.zeros(subgroups, np.int64)
    rows_of_pass = 1 if output == "GATED" else plan.rows
    units = [
        item + i
        for item in range(0, lane_units, row_units)
        for i in range(row_units)
        if lane_units % row_units == 0 or item + i < lane_units
    ]
    for subgroup in range(subgroups):
        first = subgroup - before if subgroup >= before else subgroup + subgroups - before
        for number in range(first, plan.passes[0], subgroups):
            start = number * rows_of_pass * at_once + own
            for row in (start, start + at_once)[:rows_of_pass]:
                for turn in units:
                    unit = (turn << plan.lanes_shift) + lane
                    is_in = (unit < n_units) & (row < height)
                    for part in range(unit_parts):
                        np.add.at(count, (row[is_in], unit[is_in] * unit_parts + part), 1)
            cost[subgroup] += plan.rows * lane_units * unit_parts + PASS_PARTS
    return count, cost


def a_product(
    heights: Sequence[int],
    width: int,
    formats: Sequence[object] = (Q8_0, Q8_0, Q8_0),
    epilogue: Epilogue = Epilogue.STORE,
) -> Product:
    weights = [
        Weight(str(height), kind, height, width)
        for height, kind in zip(heights, formats, strict=False)
    ]
    outputs = [Tensor(4 * number, 1, height) for number, height in enumerate(heights)]
    return Product(Prologue.PLAIN, width, weights, outputs, epilogue)


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
MIXED_FORMATS = {
    "one": (Q5_0, Q5_0, Q5_0),
    "wide": (Q4_K, Q4_K, Q4_K),
    "wide last": (Q6_K, Q6_K, Q4_K),
    "wide first": (Q4_K, Q6_K, F16),
    "floats between": (Q8_0, F32, Q8_0),
}


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize(("heights", "width"), SHAPES, ids=str)
def test_every_weight_is_multiplied_once(heights: list[int], width: int, grid: Grid) -> None:
    for count in work_of(a_product(heights, width), grid, grid.groups).counts:
        assert (count == 1).all()


@pytest.mark.parametrize("groups", [1, 3, 7])
@pytest.mark.parametrize("formats", MIXED_FORMATS.values(), ids=MIXED_FORMATS)
def test_formats_and_groups(formats: Sequence[object], groups: int) -> None:
    """Runs of one format; run by other numbers of groups than it was planned for."""
    for grid in (Grid(2, 8), Grid(20, 32)):
        step = a_product([389, 130, 67], 1280, formats)
        for count in work_of(step, grid, groups).counts:
            assert (count == 1).all()


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("kind", [Q5_0, Q4_K], ids=["narrow", "wide"])
@pytest.mark.parametrize(("height", "width"), [(1, 256), (257, 768), (2048, 512)], ids=str)
def test_both_rows_of_a_gated_step(height: int, width: int, kind: object, grid: Grid) -> None:
    """A lane has the same row of both matrices, so a pass covers half as many."""
    step = a_product([height] * 2, width, (kind, kind), Epilogue.GATED)
    for count in work_of(step, grid, grid.groups).counts:
        assert (count == 1).all()


@pytest.mark.parametrize("grid", GRIDS[:4], ids=str)
@pytest.mark.parametrize(
    ("heights", "width", "kind", "epilogue"),
    [
        *((heights, width, Q8_0, Epilogue.STORE) for heights, width in SHAPES[:6]),
        ([1025, 257, 255], 768, Q4_K, Epilogue.STORE),
        ([640, 640], 1280, Q8_0, Epilogue.GATED),
        ([300, 300], 1280, Q4_K, Epilogue.GATED),
    ],
    ids=str,
)
def test_the_busiest_lane_has_fewest_weights(
    heights: list[int], width: int, kind: object, epilogue: Epilogue, grid: Grid
) -> None:
    step = a_product(heights, width, (kind,) * len(heights), epilogue)
    found = work_of(step, grid, grid.groups).busiest
    is_gated = epilogue is Epilogue.GATED
    unit_parts = UNIT_PARTS.get(step.weights[0].format.name, 1)
    subgroups = SUBGROUPS * grid.groups
    for rows in (2,) if is_gated else (1, 2):
        for shift in range(LEAST_SHIFT, grid.subgroup_size.bit_length()):
            of_pass = (1 if is_gated else rows) * grid.subgroup_size >> shift
            passes = [-(-height // of_pass) for height in heights[: 1 if is_gated else None]]
            before, cost = 0, np.zeros(subgroups, np.int64)
            for height, count in zip(heights, passes, strict=False):
                plan = RowPlan(shift, rows, (count,))
                cost += segment_work(
                    height, width, grid, grid.groups, plan, before, unit_parts, epilogue.name
                )[1]
                before = (before + count) % subgroups
            assert found <= cost.max() * narrow_factor(shift) * 1.000001  # rounding


@pytest.mark.parametrize(
    ("heights", "width", "unit_parts", "is_gated", "plan"),
    [
        pytest.param([262144], 640, 1, False, RowPlan(2, 2, (16384,)), id="many short rows"),
        pytest.param([640], 2048, 1, False, RowPlan(5, 1, (640,)), id="few long rows"),
        pytest.param([512, 512], 640, 1, True, RowPlan(5, 2, (512, 512)), id="gated"),
        pytest.param([3000], 1024, 2, False, RowPlan(4, 1, (1500,)), id="wide units"),
        pytest.param([14336], 14336, 2, False, RowPlan(5, 1, (14336,)), id="long, of wide units"),
    ],
)
def test_plans(
    heights: list[int], width: int, unit_parts: int, is_gated: bool, plan: RowPlan
) -> None:
    grid = Grid(132, 32)
    assert plan_rows(heights, width, grid, unit_parts=unit_parts, is_gated=is_gated) == plan


def test_equal_steps_have_one_label() -> None:
    weight = Weight("a", Q4_K, 640, 1024)
    steps = [
        Product(prologue, 1024, [weight], [Tensor(0, 1, 640)], epilogue)
        for prologue, epilogue in ((Prologue.PLAIN, Epilogue.STORE), (Prologue.NORM, Epilogue.BEST))
    ]
    labels = [step.label for step in steps]
    assert labels == ["plain, 640 q4_k x 1024, store", "norm, 640 q4_k x 1024, best"]


GRID = Grid(132, 32)


def test_steps_that_differ_only_in_places_are_one_kind() -> None:
    def case(height: int = 640, width: int = 1024, kind: object = Q5_0, **changes: object) -> str:
        step = a_product([height], width, (kind,))
        step.eps = 1e-6
        for name, value in changes.items():
            setattr(step, name, value)
        return step.case(GRID)

    norms = {"norm": Weight("a norm", F32, 1, 1024), "prologue": Prologue.NORM}
    others = {**norms, "norm": Weight("another", F32, 1, 1024), "x": Tensor(8, 1, 1024)}
    assert case() == case(outputs=[Tensor(400, 1, 640)], eps=1e-5, x=Tensor(8, 1, 1024))
    assert case(**norms) == case(**others)
    kinds = [
        case(),
        case(**norms),
        case(width=2048),
        case(height=64_000),  # another plan
        case(kind=Q8_0),
        case(epilogue=Epilogue.ADD),
        case(epilogue=Epilogue.BEST),
        case(prologue=Prologue.ADD_NORM),
        case(prologue=Prologue.GATED, activation=Activation.GELU),
        case(prologue=Prologue.GATED, activation=Activation.SILU),
        case(prologue=Prologue.EMBED, embedding=Weight("embedding", Q8_0, 300, 1024)),
        case(prologue=Prologue.EMBED, embedding=Weight("embedding", Q6_K, 300, 1024)),
    ]
    assert len(set(kinds)) == len(kinds)


def test_the_case_of_a_product() -> None:
    step = a_product([4096, 1024, 1024], 512, (Q4_K, Q6_K, Q6_K), Epilogue.BEST)
    step.prologue, step.embedding = Prologue.EMBED, Weight("embedding", F16, 300, 512)
    plan = plan_rows([4096, 1024, 1024], 512, GRID, unit_parts=2, is_gated=False)
    sizes = f"512u, {plan.lanes_shift}u, {plan.rows}u, OUTPUT_BEST, 0u, false, best"
    assert step.case(GRID) == (
        "embed_row_f16(token, 512u); "
        "const Share share_0 = next_share(0u, 1u, false); "
        "const Share share_1 = next_share(1u, 3u, false); "
        "const float scale = normed_input(512u, INPUT_EMBED, false, false); "
        "Best best = NO_BEST; "
        f"multiply_q4_k(share_0, 1u, scale, {sizes}); "
        f"multiply_q6_k(share_1, 3u, scale, {sizes}); "
        "leave_best(best);"
    )


@pytest.mark.parametrize(
    ("height", "format", "streams"),
    [
        pytest.param(100_000, Q4_K, True, id="many passes"),
        pytest.param(7, Q4_K, False, id="one"),
        pytest.param(100_000, Q6_K, False, id="a format that is slower so"),
    ],
)
def test_where_rows_are_loaded_early(height: int, format: object, streams: bool) -> None:
    step = a_product([height], 512, [format])
    assert f", {str(streams).lower()}, best);" in step.case(GRID)


@pytest.mark.parametrize(
    ("prologue", "call"),
    [
        (Prologue.PLAIN, "plain_input(96u, 0u);"),
        (Prologue.NORM, "normed_input(96u, INPUT_NORM, false, false);"),
        (Prologue.ADD_NORM, "normed_input(96u, INPUT_ADD, false, false);"),
        (Prologue.GATED, "gated_input(96u, 1u);"),
    ],
)
def test_how_a_case_makes_its_input(prologue: Prologue, call: str) -> None:
    step = a_product([7], 96)
    step.prologue, step.activation = prologue, Activation.SILU
    assert f"; const float scale = {call} Best best" in step.case(GRID)


def test_norms_and_scales_of_inputs() -> None:
    """A scale is that of a sum; an embedding has one in any case."""
    step = a_product([7], 96)
    step.scale, step.norm = 0.5, Weight("norm", FORMATS[0], 1, 96)
    for prologue, flags in (
        (Prologue.NORM, "NORM, true, false"),
        (Prologue.EMBED, "EMBED, true, false"),
        (Prologue.ADD_NORM, "ADD, true, true"),
    ):
        step.prologue = prologue
        assert f"INPUT_{flags});" in step.case(GRID)


@pytest.mark.parametrize("is_in_ram", [True, False])
def test_the_case_of_a_norm_of_parts(is_in_ram: bool) -> None:
    weight, x = Weight("norm", FORMATS[0], 1, 256), Tensor(0, 1, 1024)
    table = Weight("table", Q6_K, 300, 1024)
    step = NormParts(x, x, weight, 1e-6, 4, table, 16.0, 0.5, is_in_ram)
    called = "embed_row_f32(0u, 1024u, 4u);" if is_in_ram else "embed_row_q6_k(token, 1024u, 4u);"
    assert step.case(GRID) == called
    assert step.meets
