"""A step of columns.comp knows its tiles and its groups, and packs what the kernel reads."""

import numpy as np
import pytest

from llm.files.formats import FORMATS
from llm.gpu.columns import words as w
from llm.gpu.columns.steps import ColumnAdd, ColumnProduct, share_groups
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
    packed = a_product(700, 33, 16, first_group=3, n_groups=7).pack(locate)
    assert packed[w.STEP_KIND] == w.KIND_PRODUCT + 12
    assert (packed[w.STEP_X], packed[w.STEP_WIDTH]) == (64, 1280)
    assert packed[w.STEP_OUTPUT] == w.OUTPUT_STORE
    assert packed[w.STEP_TILES] == 44 + 3 + 1
    assert packed[w.STEP_SETS] == 1
    assert (packed[w.STEP_FIRST_GROUP], packed[w.STEP_GROUPS]) == (3, 7)
    assert packed[w.STEP_EPS : w.STEP_EPS + 1].view(np.float32)[0] == np.float32(1e-6)
    address = int(packed[w.STEP_NORM]) | int(packed[w.STEP_NORM + 1]) << 32
    assert address == locate(NORM)[0]
    before = [int(segment(packed, number)[w.SEGMENT_BEFORE]) for number in range(3)]
    assert before == [0, 44, 47]
    assert [int(segment(packed, number)[w.SEGMENT_OUT]) for number in range(3)] == [
        9000,
        18000,
        27000,
    ]
    planes = segment(packed, 1)[w.SEGMENT_PLANES : w.SEGMENT_PLANES + 8].view(np.uint64)
    assert planes.tolist() == [*locate(Weight("1", Q4_K, 33, 1280)), 0]


def test_segments_that_are_not_there() -> None:
    packed = a_product(700).pack(locate)
    assert [int(segment(packed, number)[w.SEGMENT_BEFORE]) for number in range(3)] == [
        0,
        NONE,
        NONE,
    ]


def test_a_gated_product() -> None:
    """Its tiles are those of both matrices at once, so no tile is found in the second."""
    packed = a_product(800, 800, activation=Activation.SILU).pack(locate)
    assert packed[w.STEP_OUTPUT] == w.OUTPUT_GATED
    assert packed[w.STEP_ACTIVATION] == Activation.SILU
    assert packed[w.STEP_TILES] == 50
    assert segment(packed, 1)[w.SEGMENT_BEFORE] == NONE
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


@pytest.mark.parametrize("groups", [1, 2, 3, 7, 132])
@pytest.mark.parametrize("rows", [(2048, 512), (16, 16, 16), (4096, 16), (16, 4096)])
def test_groups_side_by_side(groups: int, rows: tuple[int, ...]) -> None:
    """Each product of a run has some; together they have all, none twice if there are enough."""
    run = [a_product(count, stays=True) for count in rows]
    run[-1].stays = False
    alone = a_product(640)
    share_groups([*run, alone], groups)
    assert (alone.first_group, alone.n_groups) == (0, groups)
    spans = [range(step.first_group, step.first_group + step.n_groups) for step in run]
    assert all(len(span) > 0 and span[-1] < groups for span in spans)
    assert {group for span in spans for group in span} == set(range(groups))
    tiles = sum(step.tiles for step in run)
    if all(step.tiles * groups >= tiles for step in run):
        assert sum(len(span) for span in spans) == groups
