"""A tape becomes five steps a layer, and each step knows its operands."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.tiny_gemma import FEED_FORWARD, LAYERS, WIDTH, write_tiny_gemma

from llm.files.gguf import GgufFile
from llm.gpu.fusion import Fusion, NoStepError
from llm.gpu.operations import Activation, GatedUnit, MatMul, Pairing, Rotate, Tensor, Weight
from llm.gpu.placement import place
from llm.gpu.steps import STEP_WORDS, Attention, Epilogue, Product, Prologue, Step
from llm.gpu.tape import Tape
from llm.models.registry import Limits, make_program
from llm.models.weights import F32


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> GgufFile:
    return GgufFile.open(str(write_tiny_gemma(tmp_path_factory.mktemp("models") / "tiny.gguf")))


@pytest.fixture(scope="module")
def tape(file: GgufFile) -> Tape:
    return make_program(file, Limits(96, 8, 1)).record(1, 1)


def fuse(tape: Tape) -> list[Step]:
    return Fusion(Tensor(tape.work_floats, 1, WIDTH), 10_000, 16).fuse(tape)


def test_five_steps_a_layer_and_the_head(tape: Tape) -> None:
    steps = fuse(tape)
    assert len(steps) == 5 * LAYERS + 1
    layer = steps[5:10]
    assert [type(step) for step in layer] == [Product, Attention, Product, Product, Product]
    products = [step for step in layer if isinstance(step, Product)]
    assert [product.prologue for product in products] == [
        Prologue.ADD_NORM,
        Prologue.JOIN,
        Prologue.ADD_NORM,
        Prologue.PLAIN,
    ]
    assert [len(product.weights) for product in products] == [3, 1, 2, 1]
    assert products[2].epilogue == Epilogue.GEGLU
    assert products[3].width == FEED_FORWARD
    assert steps[0].prologue == Prologue.EMBED
    assert steps[-1].epilogue == Epilogue.BEST


def test_every_matrix_is_in_one_step(tape: Tape) -> None:
    asked = [op.weight.name for op in tape.operations if isinstance(op, MatMul)]
    given = [w.name for step in fuse(tape) if isinstance(step, Product) for w in step.weights]
    assert given == asked


def test_the_residual_stream_never_is_where_it_comes_from(tape: Tape) -> None:
    """The first group writes it while others may still read it."""
    stream = None
    for step in fuse(tape):
        if isinstance(step, Product) and step.prologue == Prologue.ADD_NORM:
            assert step.x == stream
            assert step.x_out is not None
            assert not step.x_out.region.overlaps(step.x.region)
        if isinstance(step, Product) and step.x_out is not None:
            stream = step.x_out


def test_windows_of_the_parts_to_join(tape: Tape) -> None:
    steps = fuse(tape)
    for before, step in pairwise(steps):
        if isinstance(before, Attention):
            assert isinstance(step, Product)
            assert step.window == before.window
    assert {step.window for step in steps if isinstance(step, Attention)} == {0, 5}


def test_an_operation_that_fits_no_step(tape: Tape) -> None:
    broken = Tape(1, 1, operations=[*tape.operations[:5], tape.operations[8]])
    with pytest.raises(NoStepError, match="no step does Attend here"):
        fuse(broken)


def test_more_products_of_one_input_than_a_step_holds(tape: Tape) -> None:
    products = [op for op in tape.operations if isinstance(op, MatMul)][:3]
    broken = Tape(1, 1, operations=[*tape.operations[:2], *products, products[0]])
    with pytest.raises(NoStepError, match="4 products of one input; 3 fit"):
        fuse(broken)


def broken_at(tape: Tape, kind: type, **changes: Any) -> Tape:
    """The tape with the first operation of a kind changed."""
    at = next(at for at, op in enumerate(tape.operations) if isinstance(op, kind))
    changed = replace(tape.operations[at], **changes)
    return Tape(1, 1, operations=[*tape.operations[:at], changed, *tape.operations[at + 1 :]])


def test_what_other_architectures_do(tape: Tape) -> None:
    product = next(op for op in tape.operations if isinstance(op, MatMul))
    with pytest.raises(NoStepError, match="no step adds a residual to a product"):
        fuse(broken_at(tape, MatMul, residual=product.y))
    with pytest.raises(NoStepError, match="no step does SILU"):
        fuse(broken_at(tape, GatedUnit, activation=Activation.SILU))
    with pytest.raises(NoStepError, match="rotates whole heads, as pairs"):
        fuse(broken_at(tape, Rotate, pairing=Pairing.ADJACENT))
    with pytest.raises(NoStepError, match="rotates whole heads, as pairs"):
        fuse(broken_at(tape, Rotate, table=Weight("short", F32, 16, 2)))


def test_packing(file: GgufFile, tape: Tape) -> None:
    program = make_program(file, Limits(96, 8, 1))
    tables = [w for step in fuse(tape) if isinstance(step, Attention) for w in (step.table,)]
    layout = place([*tables, *program.weights])
    step = fuse(tape)[5]
    words = step.pack(layout)
    assert words.shape == (STEP_WORDS,)
    assert isinstance(step, Product)
    assert words[:3].tolist() == [0, Prologue.ADD_NORM, Epilogue.STORE]
    assert words[8:9].view(np.float32)[0] == np.float32(1e-6)
    for number, weight in enumerate(step.weights):
        at = 16 + 8 * number
        assert words[at : at + 2].tolist() == [weight.format.id, weight.rows]
        planes = layout.placements[weight.name].planes
        assert words[at + 2 : at + 2 + len(planes)].tolist() == list(planes)
        assert words[at + 6] == step.outputs[number].offset
