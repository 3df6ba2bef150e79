"""How an attention is shared out: heads apart or together, and parts of the cells."""

from dataclasses import replace

import pytest
from support.attention_steps import an_attention

from llm.files.formats import FORMATS
from llm.gpu.operations import Pairing, Temperature, Weight
from llm.gpu.steps.attention import Join, heads_together
from llm.gpu.steps.packing import Grid

F32 = FORMATS[0]
GRID = Grid(groups=128, subgroup_size=32)


@pytest.mark.parametrize(
    ("heads", "groups", "expected"),
    [
        pytest.param((4, 1, 256), 132, 32, id="as many as there is room for"),
        pytest.param((8, 8, 64), 132, 16, id="a group each"),
        pytest.param((4, 4, 64), 1, 1, id="at least one"),
        pytest.param((130, 65, 64), 1000, 7, id="any number of heads"),
    ],
)
def test_parts(heads: tuple[int, int, int], groups: int, expected: int) -> None:
    step = an_attention(*heads)
    assert step.parts(groups) == 1
    assert replace(step, has_parts=True).parts(groups) == expected


@pytest.mark.parametrize(
    ("pairing", "norm", "window", "arguments"),
    [
        (Pairing.ADJACENT, None, 0, "true, true, 20u, false, false, false, 1.0, 0.0, 0.0, 1u"),
        (
            Pairing.HALVES,
            Weight("norm", F32, 1, 64),
            512,
            "true, false, 20u, true, false, false, 1.0, 0.0, 0.0, 1u",
        ),
    ],
)
def test_the_case_of_attention(
    pairing: Pairing, norm: Weight | None, window: int, arguments: str
) -> None:
    step = an_attention(pairing=pairing, norm=norm, window=window)
    assert step.case(GRID) == f"attend_apart_64(position, 2u, 3u, false, {arguments});"
    grid = Grid(groups=3, subgroup_size=8)
    far, join = replace(step, window=0).for_many_cells(grid)
    assert far.case(GRID) == f"attend_together_64(position, 2u, 3u, true, {arguments});"
    assert far.label == "attention, all cells, in parts"
    assert join.case(GRID) == "join_parts_64(6u, false);"
    changed = replace(
        step, magnitude=1.25, soft_cap=50.0, temperature=Temperature(rate=0.5, length=4096)
    )
    extras = "1.25, 50.0, 0.5, 4096u);"
    assert changed.case(GRID) == step.case(GRID).replace("1.0, 0.0, 0.0, 1u);", extras)
    sunk = replace(step, sinks=Weight("sinks", F32, 1, 6))
    assert sunk.case(GRID) == step.case(GRID).replace("false, 1.0,", "true, 1.0,")
    assert replace(sunk, window=0).for_many_cells(grid)[1].case(GRID) == "join_parts_64(6u, true);"


def test_the_case_of_attention_to_cells_of_another_layer() -> None:
    step = replace(an_attention(heads=8, kv_heads=1), k=None, v=None, k_norm=None)
    arguments = "1u, 8u, false, false, false, 20u, false, false, false, 1.0, 0.0, 0.0, 1u"
    assert step.case(GRID) == f"attend_apart_64(position, {arguments});"
    values = replace(an_attention(), norms_values=True)
    assert values.case(GRID).endswith("false, 20u, false, true, false, 1.0, 0.0, 0.0, 1u);")


@pytest.mark.parametrize(
    ("group_heads", "together"), [(1, 1), (2, 2), (3, 2), (4, 2), (7, 2), (8, 2), (71, 2)]
)
def test_heads_together(group_heads: int, together: int) -> None:
    assert heads_together(group_heads) == together


@pytest.mark.parametrize(
    ("heads", "cells"),
    [
        pytest.param((32, 8, 64), 640, id="small heads"),
        pytest.param((32, 8, 128), 640, id="the largest of them"),
        pytest.param((4, 1, 256), 128, id="large heads"),
    ],
)
def test_few_cells(heads: tuple[int, int, int], cells: int) -> None:
    assert an_attention(*heads).few_cells == cells


@pytest.mark.parametrize(
    ("heads", "window", "together"),
    [
        pytest.param((32, 8, 64), 0, 2, id="all cells"),
        pytest.param((32, 8, 64), 640, None, id="few cells in the window"),
        pytest.param((32, 8, 64), 641, 2, id="many cells in the window"),
        pytest.param((4, 1, 256), 0, 1, id="more groups than parts"),
        pytest.param((8, 8, 64), 0, 1, id="a key/value head each"),
    ],
)
def test_steps_for_many_cells(
    heads: tuple[int, int, int], window: int, together: int | None
) -> None:
    step = an_attention(*heads, window=window)
    found = step.for_many_cells(Grid(128, 32))
    if together is None:
        assert found == [step]
    else:
        parted = replace(step, has_parts=True, together=together)
        assert found == [parted, Join(parted)]


@pytest.mark.parametrize(
    ("heads", "window", "parts"),
    [
        pytest.param((4, 1, 256), 0, 32, id="all cells"),
        pytest.param((4, 1, 256), 512, 8, id="of a window, as many as are worth joining"),
        pytest.param((4, 1, 256), 513, 9, id="one more"),
        pytest.param((32, 8, 64), 700, 3, id="small heads"),
        pytest.param((32, 8, 64), 4096, 4, id="no more than groups"),
    ],
)
def test_parts_of_a_window(heads: tuple[int, int, int], window: int, parts: int) -> None:
    step = an_attention(*heads, window=window)
    assert replace(step, has_parts=True).parts(132) == parts


def test_words_of_parts() -> None:
    """Half as many heads for a group, twice as many parts; the join finds as many."""
    step = an_attention(32, 8, 64)
    apart = replace(step, has_parts=True)
    steps = [step, apart, *step.for_many_cells(GRID), Join(apart)]
    words = [one.pack(1, lambda _weight: [0], GRID, 132) for one in steps]
    assert [found[16] for found in words] == [1, 4, 8, 8, 4]
    assert {int(found[14]) for found in words} == {step.y.offset}
    assert {int(found[15]) for found in words} == {step.partials.offset}


def test_what_is_left() -> None:
    """Heads, or parts of them: as many as the groups make, not as there is room for."""
    step = an_attention(32, 8, 64)
    assert step.left(132) == step.y
    parted = replace(step, has_parts=True)
    assert parted.left(132) == replace(step.partials, width=32 * 4 * (64 + 4))
