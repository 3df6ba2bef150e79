"""Groups without cells load memory that holds the next weights, and nothing beyond it."""

from collections.abc import Sequence

import numpy as np
import pytest
from support.attention_steps import an_attention
from support.step_words import address_at

from llm.files.formats import FORMATS, BlockFormat
from llm.files.repack import plane_words
from llm.gpu.device.placement import place
from llm.gpu.operations import Tensor, Weight
from llm.gpu.steps.ahead import LINE, MOST_BYTES, load_ahead
from llm.gpu.steps.attention import Attention
from llm.gpu.steps.packing import STEP_WORDS, Grid, Words
from llm.gpu.steps.steps import (
    AHEAD,
    AHEAD_LINES,
    LIKELIEST,
    NEXT,
    NEXT_END,
    NEXT_STRIDE,
    Epilogue,
    Product,
    Prologue,
    Step,
)

F32, Q5_0, Q4_K = (FORMATS[number] for number in (0, 6, 12))
BASE = 3 << 40 | 0x80000000
GRID = Grid(13, 8)
VECTOR = Tensor(0, 1, 256)


def a_weight(name: str, rows: int = 700, format: BlockFormat = Q5_0) -> Weight:
    return Weight(name, format, rows, 256)


def a_product(*weights: Weight) -> Product:
    return Product(Prologue.PLAIN, 256, list(weights), [VECTOR] * len(weights), x=VECTOR)


def ahead_of(steps: Sequence[Step], weights: Sequence[Weight]) -> list[tuple[int, int]]:
    """Address and lines for each attention, where the weights lie in this order."""
    found = []
    for step, words in zip(steps, words_of(steps, weights), strict=True):
        if isinstance(step, Attention):
            found.append((address_at(words, AHEAD), int(words[AHEAD_LINES])))
            words[AHEAD : AHEAD_LINES + 1] = 0
            assert not words.any()
        else:
            assert not words[:NEXT].any()
    return found


def words_of(steps: Sequence[Step], weights: Sequence[Weight]) -> list[Words]:
    layout = place(weights)
    packed = [np.zeros(STEP_WORDS, np.uint32) for _ in steps]
    load_ahead(
        steps,
        packed,
        lambda weight: [BASE + 4 * plane for plane in layout.placements[weight.name].planes],
        GRID,
    )
    return packed


def size_of(*weights: Weight) -> int:
    return sum(4 * sum(plane_words(one.format, one.rows * one.columns)) for one in weights)


def test_all_planes_of_the_next_steps() -> None:
    """Up to the next attention's own, if there is room."""
    first, output, gate, up = map(a_weight, ("first", "output", "gate", "up"))
    steps = [a_product(first), an_attention(), a_product(output), a_product(gate, up)]
    found = ahead_of(steps, [first, output, gate, up])
    assert found == [(BASE + size_of(first), size_of(output, gate, up) // LINE)]


def test_weights_elsewhere_end_it() -> None:
    output, other, gate = map(a_weight, ("output", "other", "gate"))
    steps = [an_attention(), a_product(output), an_attention(), a_product(gate)]
    found = ahead_of(steps, [output, other, gate])
    assert found == [
        (BASE, size_of(output) // LINE),
        (BASE + size_of(output, other), size_of(gate) // LINE),
    ]


def test_only_whole_lines() -> None:
    """Lines beyond the last weight may belong to nobody."""
    odd = a_weight("odd", 521, F32)
    assert size_of(odd) % LINE == 0
    half = Weight("half", F32, 1, (1 << 17) + 4)
    assert size_of(half) % LINE != 0
    assert ahead_of([an_attention(), a_product(half)], [half]) == [(BASE, size_of(half) // LINE)]


@pytest.mark.parametrize("rows", [1 << 17, 1 << 18])
def test_no_more_than_an_attention_has_time_for(rows: int) -> None:
    large, more = a_weight("large", rows, Q4_K), a_weight("more", rows, Q4_K)
    assert size_of(large) > MOST_BYTES
    assert ahead_of([an_attention(), a_product(large, more)], [large, more]) == [
        (BASE, MOST_BYTES // LINE)
    ]


def test_nothing_follows() -> None:
    assert ahead_of([an_attention()], []) == [(0, 0)]


def test_products_load_the_first_lines_of_the_product_that_follows() -> None:
    """A pass reads so many words of the first plane, and nothing behind the plane is read."""
    first, gate, up, last = map(a_weight, ("first", "gate", "up", "last"))
    gated = a_product(gate, up)
    gated.epilogue = Epilogue.GATED
    steps = [a_product(first), gated, an_attention(), a_product(last), *LIKELIEST]
    weights = [first, gate, up, last]
    before_gate, before_attention, _, before_pick, pick = words_of(steps, weights)
    pass_words, words = gated.first_plane(GRID)
    assert before_gate[NEXT_STRIDE : NEXT_END + 1].tolist() == [pass_words, words]
    assert address_at(before_gate, NEXT) == BASE + size_of(first)
    assert words == plane_words(Q5_0, 700 * 256)[0]
    assert -(-words // pass_words) == gated.passes(GRID)[0]
    for others in (before_attention, before_pick, pick):
        assert not others.any()


@pytest.mark.parametrize("rows", [1, 5, 700])
@pytest.mark.parametrize("format", [F32, Q5_0, Q4_K])
def test_passes_cover_a_plane(rows: int, format: BlockFormat) -> None:
    step = a_product(a_weight("one", rows, format))
    pass_words, words = step.first_plane(GRID)
    assert words == plane_words(format, rows * 256)[0]
    assert -(-words // pass_words) == step.passes(GRID)[0]
