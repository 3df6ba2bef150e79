"""How an attention is shared out: heads apart or together, and parts of the cells."""

from dataclasses import replace

import pytest
from support.attention_steps import an_attention

from llm.files.formats import FORMATS
from llm.gpu.operations import Pairing, Weight
from llm.gpu.steps.attention import heads_together, parts_of
from llm.gpu.steps.packing import Grid

F32 = FORMATS[0]
GRID = Grid(groups=128, subgroup_size=32)


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


@pytest.mark.parametrize(
    ("pairing", "norm", "window", "arguments"),
    [
        (Pairing.ADJACENT, None, 0, "position, 2u, true, 20u, false"),
        (Pairing.HALVES, Weight("norm", F32, 1, 64), 512, "position, 2u, false, 20u, true"),
    ],
)
def test_the_case_of_attention(
    pairing: Pairing, norm: Weight | None, window: int, arguments: str
) -> None:
    step = an_attention(pairing=pairing, norm=norm, window=window)
    assert step.case(GRID) == f"attend_apart({arguments});"
    grid = Grid(groups=3, subgroup_size=8)
    far = replace(step, window=0).with_heads_together(grid)
    assert far.case(GRID) == f"attend_together({arguments});"
    assert far.label == "attention, all cells"


@pytest.mark.parametrize(
    ("group_heads", "together"), [(1, 1), (2, 2), (3, 2), (4, 2), (7, 2), (8, 2), (71, 2)]
)
def test_heads_together(group_heads: int, together: int) -> None:
    assert heads_together(group_heads) == together


@pytest.mark.parametrize(
    ("heads", "groups", "cells"),
    [
        pytest.param((32, 8, 64), 132, 4 * 256, id="four parts"),
        pytest.param((32, 8, 128), 132, 4 * 128, id="larger heads, fewer of them in a subgroup"),
        pytest.param((4, 1, 256), 132, 32 * 32, id="as many parts as are joined"),
        pytest.param((32, 8, 64), 20, 256, id="fewer groups than heads"),
    ],
)
def test_few_cells(heads: tuple[int, int, int], groups: int, cells: int) -> None:
    assert an_attention(*heads).few_cells(Grid(groups, 32)) == cells


@pytest.mark.parametrize(
    ("heads", "window", "pays"),
    [
        pytest.param((32, 8, 64), 0, True, id="all cells"),
        pytest.param((32, 8, 64), 1024, False, id="few cells in the window"),
        pytest.param((32, 8, 64), 1025, True, id="many cells in the window"),
        pytest.param((4, 1, 256), 0, False, id="more groups than parts"),
        pytest.param((8, 8, 64), 0, False, id="a key/value head each"),
    ],
)
def test_where_heads_go_together(heads: tuple[int, int, int], window: int, pays: bool) -> None:
    step = an_attention(*heads, window=window)
    far = step.with_heads_together(Grid(128, 32))
    assert far == (replace(step, together=2) if pays else step)


def test_parts_of_heads_together() -> None:
    """Half as many heads for a group, twice as many parts."""
    step = an_attention(32, 8, 64)
    far = step.with_heads_together(GRID)
    parts = [one.pack(1, lambda _weight: [0], GRID, 132)[16] for one in (step, far)]
    assert parts == [4, 8]


def test_parts_of_more_heads_than_are_counted() -> None:
    assert parts_of(32, 64, Grid(1000, 32)) == 15
    assert parts_of(32, 65, Grid(1000, 32)) == 1
