"""A step of columns.comp knows its tiles and its groups, and packs what the kernel reads."""

import numpy as np
import pytest

from llm.files.formats import FORMATS
from llm.gpu.columns import words as w
from llm.gpu.columns.steps import ColumnAdd, ColumnProduct, share_groups, shared_out
from llm.gpu.operations import Activation, Tensor, Weight
from llm.gpu.state import NONE

Q4_K, Q6_K = FORMATS[12], FORMATS[14]
X = Tensor(64, 16, 1280)
NORM = Weight("norm", FORMATS[0], 1, 1280)


def locate(weight: Weight) -> list[int]:
    return [(1 << 33) + 256 * weight.rows + plane for plane in range(1 if weight.rows == 1 else 3)]


def a_product(*rows: int, **changes: object) -> ColumnProduct:
    weights = [Weight(str(number), Q4_K, count, 1280) for number, count in enumerate(rows)]
    outputs = [Tensor(9000 * (1 + number), 16, count) for number, count in enumerate(rows)]
    product = ColumnProduct(X, weights, outputs, NORM, 1e-6)
    for name, value in changes.items():
        setattr(product, name, value)
    return product


def segment(packed: np.ndarray, number: int) -> np.ndarray:
    start = w.STEP_SEGMENT + number * w.SEGMENT_WORDS
    return packed[start : start + w.SEGMENT_WORDS]


def test_a_product() -> None:
    spans = [(0, 5), (5, 1), (6, 1)]
    packed = a_product(700, 33, 16, first_group=3, spans=spans).pack(locate)
    assert packed[w.STEP_KIND] == w.KIND_PRODUCT + 12
    assert (packed[w.STEP_X], packed[w.STEP_WIDTH]) == (64, 1280)
    assert packed[w.STEP_OUTPUT] == w.OUTPUT_STORE
    assert packed[w.STEP_SETS] == 1
    assert (packed[w.STEP_FIRST_GROUP], packed[w.STEP_GROUPS]) == (3, 7)
    assert packed[w.STEP_EPS : w.STEP_EPS + 1].view(np.float32)[0] == np.float32(1e-6)
    address = int(packed[w.STEP_NORM]) | int(packed[w.STEP_NORM + 1]) << 32
    assert address == locate(NORM)[0]
    assert groups_of(packed) == spans
    assert [int(segment(packed, number)[w.SEGMENT_OUT]) for number in range(3)] == [
        9000,
        18000,
        27000,
    ]
    planes = segment(packed, 1)[w.SEGMENT_PLANES : w.SEGMENT_PLANES + 8].view(np.uint64)
    assert planes.tolist() == [*locate(Weight("1", Q4_K, 33, 1280)), 0]


def groups_of(packed: np.ndarray) -> list[tuple[int, int]]:
    words = [segment(packed, number) for number in range(w.MAX_SEGMENTS)]
    return [
        (int(found[w.SEGMENT_FIRST_GROUP]), int(found[w.SEGMENT_GROUPS]))
        for found in words
        if found[w.SEGMENT_FIRST_GROUP] != NONE
    ]


def test_segments_that_are_not_there() -> None:
    assert groups_of(a_product(700, spans=[(0, 9)]).pack(locate)) == [(0, 9)]


def test_a_gated_product() -> None:
    """Its tiles are those of both matrices at once, so no group has the second alone."""
    product = a_product(800, 800, activation=Activation.SILU, spans=[(0, 9)])
    assert product.tiles == [50]
    packed = product.pack(locate)
    assert packed[w.STEP_OUTPUT] == w.OUTPUT_GATED
    assert packed[w.STEP_ACTIVATION] == Activation.SILU
    assert groups_of(packed) == [(0, 9)]
    assert segment(packed, 1)[w.SEGMENT_HEIGHT] == 800


@pytest.mark.parametrize(
    ("changes", "output"),
    [({}, w.OUTPUT_STORE), ({"adds": True}, w.OUTPUT_ADD), ({"sets": 3}, w.OUTPUT_PARTS)],
)
def test_outputs(changes: dict[str, object], output: int) -> None:
    assert a_product(64, **changes).pack(locate)[w.STEP_OUTPUT] == output


def test_an_add() -> None:
    packed = ColumnAdd(X, 5000, 4, NORM, 1e-5).pack(locate)
    assert packed[w.STEP_KIND] == w.KIND_ADD
    assert (packed[w.STEP_PARTS], packed[w.STEP_SETS]) == (5000, 4)
    assert packed[w.STEP_GROUPS] == NONE  # all of them


def test_matrices_of_several_formats() -> None:
    product = a_product(32, 48, 64)
    product.weights[2] = Weight("2", Q6_K, 64, 1280)
    runs = product.of_one_format()
    assert [[weight.rows for weight in run.weights] for run in runs] == [[32, 48], [64]]
    assert [run.outputs for run in runs] == [product.outputs[:2], product.outputs[2:]]
    assert [run.stays for run in runs] == [True, False]


@pytest.mark.parametrize("groups", [3, 7, 132])
@pytest.mark.parametrize("rows", [(2048, 512), (16, 16, 16), (4096, 16), (16, 4096), (640,)])
def test_groups_side_by_side(groups: int, rows: tuple[int, ...]) -> None:
    """Each matrix has some, in one step or several; together they have all, each once."""
    whole, first, alone = a_product(*rows), a_product(rows[0], stays=True), a_product(640)
    steps = share_groups([whole, first, a_product(*rows[1:] or (16,)), alone], groups)
    assert [(step.first_group, step.n_groups) for step in (steps[0], steps[3])] == [(0, groups)] * 2
    for run in (steps[:1], steps[1:3]):
        spans = [(step.first_group + at, count) for step in run for at, count in step.spans]
        assert all(count > 0 for _, count in spans)
        assert [group for at, count in spans for group in range(at, at + count)] == [*range(groups)]


def test_the_most_tiles_of_a_group_are_few() -> None:
    counts = shared_out(132, [128, 32, 32])
    assert sum(counts) == 132
    assert max(-(-tiles // count) for tiles, count in zip([128, 32, 32], counts, strict=True)) == 2


@pytest.mark.parametrize("groups", [1, 2])
def test_fewer_groups_than_matrices(groups: int) -> None:
    """One after the other, by all."""
    gated = a_product(800, 800, activation=Activation.SILU)
    steps = share_groups([a_product(32, 48, 64), gated], groups)
    assert [[weight.rows for weight in step.weights] for step in steps] == [
        [32],
        [48],
        [64],
        [800, 800],
    ]
    assert all((step.first_group, step.spans) == (0, [(0, groups)]) for step in steps)
    assert [step.stays for step in steps] == [True, True, False, False]
