"""The layers of a tape of a few rows become steps; what is around them stays operations."""

from dataclasses import replace
from pathlib import Path

import pytest
from gguf import GGMLQuantizationType as Type
from support import tiny_gemma, tiny_llama

from llm.files.gguf import GgufFile
from llm.gpu.columns.fusion import ColumnLayers, fuse_columns
from llm.gpu.columns.steps import ColumnAdd, ColumnGate, ColumnHeads, ColumnProduct, is_beside
from llm.gpu.operations import Activation, Embed, MatMul, Operation, RMSNorm, SelectRows
from llm.gpu.steps.errors import NoStepError
from llm.gpu.tape import Tape
from llm.models.registry import Limits, make_program

ALIKE = {"attn_q": Type.Q8_0, "attn_k": Type.Q8_0, "attn_v": Type.Q8_0, "ffn_gate": Type.F32}


def record(path: Path, rows: int = 8) -> Tape:
    return make_program(GgufFile.open(str(path)), Limits(96, 16, 1)).record(rows, 1)


@pytest.fixture
def llama(tmp_path: Path) -> Tape:
    formats = {**tiny_llama.MIXED, **ALIKE}
    return record(tiny_llama.write_tiny_llama(tmp_path / "tiny.gguf", formats=formats))


@pytest.fixture
def gemma(tmp_path: Path) -> Tape:
    return record(tiny_gemma.write_tiny_gemma(tmp_path / "tiny.gguf"))


def kinds(layers: ColumnLayers) -> list[type]:
    return [type(step) for step in layers.steps]


def test_llama(llama: Tape) -> None:
    layers = fuse_columns(llama)
    assert [type(op) for op in layers.before] == [Embed]
    assert [type(op) for op in layers.after] == [SelectRows, RMSNorm, MatMul]
    heads = [ColumnHeads, ColumnHeads]
    layer = [ColumnProduct, *heads, ColumnProduct, ColumnProduct, ColumnProduct]
    assert kinds(layers) == layer * tiny_llama.LAYERS
    qkv, rotate, attend, out, gate, down = layers.steps[:6]
    assert isinstance(qkv, ColumnProduct)
    assert len(qkv.weights) == 3
    assert qkv.norm is not None
    assert isinstance(rotate, ColumnHeads)
    assert isinstance(attend, ColumnHeads)
    assert (rotate.attends, attend.attends) == (False, True)
    assert isinstance(gate, ColumnProduct)
    assert gate.activation is Activation.SILU
    assert layers.formats == {"q8_0", "q4_k", "f32"}
    for product in (out, down):
        assert isinstance(product, ColumnProduct)
        assert product.adds
        assert product.norm is None
        assert product.outputs == [qkv.x]


def test_formats_of_their_own(gemma: Tape) -> None:
    """Products of one input run side by side, but for the last; a gate gets a step of its own."""
    layers = fuse_columns(gemma)
    products = [step for step in layers.steps[:3] if isinstance(step, ColumnProduct)]
    assert [product.weights[0].format.name for product in products] == ["f16", "q5_0", "q6_k"]
    assert [product.stays for product in products] == [True, True, False]
    assert len({product.x for product in products}) == 1
    assert [is_beside(layers.steps, number) for number in range(4)] == [False, True, True, False]
    number = kinds(layers).index(ColumnGate)
    assert kinds(layers)[number - 2 : number] == [ColumnProduct, ColumnProduct]
    assert kinds(layers)[number + 1] is ColumnProduct


def test_norms_before_the_residual_stream(gemma: Tape) -> None:
    layers = fuse_columns(gemma)
    adds = [step for step in layers.steps if isinstance(step, ColumnAdd)]
    assert len(adds) == 2 * tiny_gemma.LAYERS
    for add in adds:
        assert add.norm is not None
        assert add.sets == 1
        before = layers.steps[layers.steps.index(add) - 1]
        assert isinstance(before, ColumnProduct)
        assert [add.parts] == [output.offset for output in before.outputs]
        assert not before.adds


def test_long_rows_are_shared_by_sets(llama: Tape) -> None:
    """What adds to the residual stream gets a step that adds up the sets' sums."""
    layers = fuse_columns(llama)
    most = layers.whole_steps
    shared = layers.share_k(most, 4096)
    down = shared.products[3]
    assert down.k_steps > most
    assert down.sets == 3 == shared.most_sets
    assert down.parts == 4096
    add = shared.steps[shared.steps.index(down) + 1]
    assert isinstance(add, ColumnAdd)
    assert (add.sets, add.parts, add.stream, add.norm) == (3, 4096, down.outputs[0], None)
    rows = max(weight.rows for step in shared.products for weight in step.weights)
    assert layers.part_floats(most, 8) <= 3 * 8 * rows
    assert layers.most_sets == 1  # of these, nothing changed
    assert layers.share_k(1 << 10, 0).steps == layers.steps


def test_long_rows_before_a_norm(gemma: Tape) -> None:
    """The step that norms what it adds adds up the sets' sums, too."""
    layers = fuse_columns(gemma)
    count = len(layers.steps)
    shared = layers.share_k(layers.whole_steps, 1 << 12)
    assert len(shared.steps) == count
    for number, step in enumerate(shared.steps):
        if isinstance(step, ColumnProduct) and step.sets > 1:
            add = shared.steps[number + 1]
            assert isinstance(add, ColumnAdd)
            assert (add.sets, add.parts) == (step.sets, 1 << 12)
    assert shared.most_sets > 1


def test_long_rows_that_nothing_adds(llama: Tape) -> None:
    layers = fuse_columns(llama)
    with pytest.raises(NoStepError, match="nothing adds"):
        layers.share_k(1, 0)


# Of the first layer: the embedding, what attention is, the gate's products.
@pytest.mark.parametrize("at", [0, 5, 6, 7, 8, 11, 12])
def test_without_an_operation(llama: Tape, at: int) -> None:
    operations = [*llama.operations[:at], *llama.operations[at + 1 :]]
    with pytest.raises(NoStepError):
        fuse_columns(replace_operations(llama, operations))


# The embedding, what attention is, a norm, the gated unit.
@pytest.mark.parametrize("at", [0, 1, 5, 6, 7, 8, 13])
def test_an_operation_twice(llama: Tape, at: int) -> None:
    operations = [*llama.operations[: at + 1], *llama.operations[at:]]
    with pytest.raises(NoStepError):
        fuse_columns(replace_operations(llama, operations))


def test_no_layers(llama: Tape) -> None:
    with pytest.raises(NoStepError, match="without products"):
        fuse_columns(replace_operations(llama, [llama.operations[0], *llama.operations[-3:]]))


def replace_operations(tape: Tape, operations: list[Operation]) -> Tape:
    other = Tape(tape.rows, tape.outputs)
    other.operations[:] = operations
    other.logits = tape.logits
    return other


def test_a_residual_elsewhere(llama: Tape) -> None:
    operations = list(llama.operations)
    at = next(i for i, op in enumerate(operations) if isinstance(op, MatMul) and op.residual)
    op = operations[at]
    assert isinstance(op, MatMul)
    operations[at] = replace(op, residual=op.x)
    with pytest.raises(NoStepError, match="residual"):
        fuse_columns(replace_operations(llama, operations))
