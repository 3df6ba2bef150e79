"""A tape becomes five steps a layer, and each step knows its operands."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gguf import GGMLQuantizationType as Type
from support import tiny_gemma, tiny_llama

from llm.files.gguf import GgufFile
from llm.gpu.operations import (
    Activation,
    Attend,
    CacheStore,
    GatedUnit,
    MatMul,
    Operation,
    Pairing,
    RMSNorm,
    Rotate,
    SelectRows,
    Tensor,
    Weight,
)
from llm.gpu.steps.attention import Attention
from llm.gpu.steps.errors import NoStepError
from llm.gpu.steps.fusion import StepScratch, fuse
from llm.gpu.steps.steps import Epilogue, Product, Prologue, Step
from llm.gpu.tape import Tape
from llm.models.registry import Limits, make_program
from llm.models.weights import F32

GEMMA, LLAMA = "gemma3", "llama"
WRITERS: dict[str, Callable[..., Path]] = {
    GEMMA: tiny_gemma.write_tiny_gemma,
    LLAMA: tiny_llama.write_tiny_llama,
}
LAYERS = {GEMMA: tiny_gemma.LAYERS, LLAMA: tiny_llama.LAYERS}
MIXED = {GEMMA: tiny_gemma.MIXED, LLAMA: tiny_llama.MIXED}
Record = Callable[..., Tape]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Makes the tape for one token of a tiny model, some of whose matrices are in other formats."""

    def record(architecture: str, **formats: Type) -> Tape:
        path = tmp_path_factory.mktemp("models") / "tiny.gguf"
        WRITERS[architecture](path, formats={**MIXED[architecture], **formats})
        return make_program(GgufFile.open(str(path)), Limits(96, 8, 1)).record(1, 1)

    return record


@pytest.fixture(scope="module", params=[GEMMA, LLAMA])
def architecture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def tape(record: Record, architecture: str) -> Tape:
    """Gate and up are in the same format."""
    return record(architecture, ffn_gate=Type.Q5_0, ffn_up=Type.Q5_0)


@pytest.fixture(scope="module")
def gemma(record: Record) -> Tape:
    return record(GEMMA)


@pytest.fixture(scope="module")
def llama(record: Record) -> Tape:
    return record(LLAMA)


def scratch_of(tape: Tape) -> StepScratch:
    start = tape.work_floats
    width = tape.operations[0].y.width
    return StepScratch(
        Tensor(start, 1, width), Tensor(10_000, 1, 9000), Tensor(20_000, 1, 9000), 16
    )


def steps_of(tape: Tape) -> list[Step]:
    return fuse(tape, scratch_of(tape))


def products_of(tape: Tape) -> list[Product]:
    return [step for step in steps_of(tape) if isinstance(step, Product)]


def test_five_steps_a_layer_and_the_head(tape: Tape, architecture: str) -> None:
    steps = steps_of(tape)
    assert len(steps) == 5 * LAYERS[architecture] + 1
    kinds = [Product, Attention, Product, Product, Product]
    assert [type(step) for step in steps] == [*kinds * LAYERS[architecture], Product]
    products = products_of(tape)
    is_gemma = architecture == GEMMA  # which norms what it adds to the stream
    plain, normed = Prologue.PLAIN, Prologue.ADD_NORM if is_gemma else Prologue.NORM
    layers = [normed, plain, normed, plain] * LAYERS[architecture]
    assert [step.prologue for step in products] == [Prologue.EMBED, *layers[1:], normed]
    added = Epilogue.STORE if is_gemma else Epilogue.ADD
    ends = [Epilogue.STORE, added, Epilogue.GATED, added]
    assert [step.epilogue for step in products] == [*ends * LAYERS[architecture], Epilogue.BEST]
    assert [len(step.weights) for step in products] == [*[3, 1, 2, 1] * LAYERS[architecture], 1]


def test_every_matrix_is_in_one_step(tape: Tape) -> None:
    asked = [op.weight for op in tape.operations if isinstance(op, MatMul)]
    assert [weight for step in products_of(tape) for weight in step.weights] == asked
    for step in products_of(tape):
        assert {weight.columns for weight in step.weights} == {step.width}


def test_every_norm_is_in_one_step(tape: Tape) -> None:
    asked = [op.weight for op in tape.operations if isinstance(op, RMSNorm)]
    norms = [norm for step in products_of(tape) for norm in (step.post_norm, step.norm) if norm]
    assert norms == asked


def with_one_sum_by_a_product(gemma: Tape) -> Tape:
    """The second sum of the residual stream is a product's; a norm had moved it before."""
    norms = [op for op in gemma.operations if isinstance(op, RMSNorm) and op.residual]
    place = gemma.operations.index(norms[1])
    product = gemma.operations[place - 1]
    assert isinstance(product, MatMul)
    adding = replace(product, y=norms[1].y, residual=norms[1].y)
    operations = [*gemma.operations[: place - 1], adding, *gemma.operations[place + 1 :]]
    return replace(gemma, operations=operations)


def test_the_residual_stream(tape: Tape, gemma: Tape) -> None:
    """Each step finds it where the last one has left it.

    The first group writes a sum of the stream while others may still read: to another place. A
    product adds to the stream in place: no group of that step reads it otherwise.
    """
    for steps in (products_of(tape), products_of(with_one_sum_by_a_product(gemma))):
        stream = steps[0].x_out
        assert stream is not None
        for step in steps[1:]:
            if step.prologue in (Prologue.NORM, Prologue.ADD_NORM):
                assert step.x == stream
                assert step.epilogue != Epilogue.ADD
            if step.prologue == Prologue.ADD_NORM:
                assert step.x_out is not None
                assert not step.x_out.region.overlaps(stream.region)
                stream = step.x_out
            if step.epilogue == Epilogue.ADD:
                assert step.outputs == [stream]
                assert all(
                    x is None or not x.region.overlaps(stream.region) for x in (step.x, step.y)
                )


def test_what_is_added_to_the_stream(gemma: Tape, llama: Tape) -> None:
    """Gemma norms it before, so a later step adds it; Llama's products do."""
    added = None
    for step in products_of(gemma):
        assert (step.prologue == Prologue.ADD_NORM) == (step.post_norm is not None)
        if step.prologue == Prologue.ADD_NORM:
            assert step.y == added
        if len(step.weights) == 1:
            added = step.outputs[0]
    adding = [step for step in products_of(llama) if step.epilogue == Epilogue.ADD]
    residuals = [op for op in llama.operations if isinstance(op, MatMul) and op.residual]
    assert [step.weights for step in adding] == [[op.weight] for op in residuals]
    assert len(adding) == 2 * tiny_llama.LAYERS
    assert not any(step.y for step in adding if step.prologue != Prologue.GATED)


@pytest.mark.parametrize(
    ("architecture", "activation"), [(GEMMA, Activation.GELU), (LLAMA, Activation.SILU)]
)
def test_gates(record: Record, architecture: str, activation: Activation) -> None:
    """The gated unit of matrices in one format ends their step, others' begins the next."""
    gates = {"ffn_gate": Type.Q8_0, "ffn_up": Type.Q8_0}
    for tape, is_split in ((record(architecture, **gates), False), (record(architecture), True)):
        units = [op for op in tape.operations if isinstance(op, GatedUnit)]
        pairs = [step for step in products_of(tape) if len(step.weights) == 2]
        downs = [step for step in products_of(tape) if "ffn_down" in step.weights[0].name]
        for unit, pair, down in zip(units, pairs, downs, strict=True):
            if is_split:
                assert pair.epilogue == Epilogue.STORE
                assert pair.outputs == [unit.gate, unit.up]
                assert down.prologue == Prologue.GATED
                assert (down.x, down.y) == (unit.gate, unit.up)
                assert down.activation == activation
            else:
                assert pair.epilogue == Epilogue.GATED
                assert pair.outputs[0] == unit.y
                assert pair.activation == activation
                assert (down.prologue, down.x) == (Prologue.PLAIN, unit.y)


def test_embedding(gemma: Tape, llama: Tape) -> None:
    for tape, scale in ((gemma, tiny_gemma.WIDTH**0.5), (llama, 1.0)):
        first = products_of(tape)[0]
        assert first.embedding is not None
        assert first.embedding.name == "token_embd.weight"
        assert first.scale == scale
        assert first.x_out == tape.operations[0].y


def test_attention(gemma: Tape, llama: Tape) -> None:
    for tape, pairing, windows in (
        (gemma, Pairing.HALVES, {0, tiny_gemma.WINDOW}),
        (llama, Pairing.ADJACENT, {0}),
    ):
        steps = [step for step in steps_of(tape) if isinstance(step, Attention)]
        assert {step.pairing for step in steps} == {pairing}
        assert {step.window for step in steps} == windows
        attends = [op for op in tape.operations if isinstance(op, Attend)]
        rotations = [op for op in tape.operations if isinstance(op, Rotate)]
        for step, attend, q, k in zip(steps, attends, rotations[::2], rotations[1::2], strict=True):
            assert (step.q, step.y, step.cache) == (attend.q, attend.y, attend.cache)
            assert (step.q, step.k) == (q.x, k.x)
            assert (step.q_norm, step.k_norm, step.scale) == (q.norm, k.norm, q.scale)
            assert step.partials.offset == (20_000 if step.window else 10_000)
            assert step.n_parts == 16


def with_changed(tape: Tape, kind: type[Operation], at: int = 0, **changes: Any) -> Tape:
    """The tape with one of the operations of a kind changed."""
    places = [place for place, op in enumerate(tape.operations) if isinstance(op, kind)]
    operations = list(tape.operations)
    operations[places[at]] = replace(operations[places[at]], **changes)
    return replace(tape, operations=operations)


def elsewhere(tensor: Tensor) -> Tensor:
    return Tensor(100_000, 1, tensor.width)


def refused(tape: Tape, message: str) -> None:
    with pytest.raises(NoStepError, match=message):
        steps_of(tape)


def test_an_operation_that_fits_no_step(gemma: Tape) -> None:
    attend = next(op for op in gemma.operations if isinstance(op, Attend))
    refused(replace(gemma, operations=[*gemma.operations[:5], attend]), "no step does Attend here")


def test_more_products_of_one_input_than_a_step_holds(gemma: Tape) -> None:
    products = [op for op in gemma.operations if isinstance(op, MatMul)][:3]
    operations = [*gemma.operations[:2], *products, products[0]]
    refused(replace(gemma, operations=operations), "4 products of one input; 3 fit")


def test_a_norm_without_a_product(gemma: Tape) -> None:
    embed, norm, product = gemma.operations[:3]
    message = "product of the norm should follow, not "
    refused(replace(gemma, operations=[embed, norm]), message + "NoneType")
    refused(replace(gemma, operations=[embed, norm, norm]), message + "RMSNorm")
    refused(with_changed(gemma, RMSNorm, y=elsewhere(norm.y)), message + "MatMul")
    message = "norm of the residual stream should follow, not "
    refused(replace(gemma, operations=[embed, product]), message + "MatMul")


def test_norms_that_no_step_takes(gemma: Tape, llama: Tape) -> None:
    """The stream has one home, and a step has one eps."""
    norms = [op for op in gemma.operations if isinstance(op, RMSNorm)]
    at = next(at for at, norm in enumerate(norms) if norm.residual is not None)
    post, following = norms[at : at + 2]
    message = "a norm of the residual stream should follow, not RMSNorm"
    refused(with_changed(gemma, RMSNorm, x=elsewhere(post.x)), message)
    refused(with_changed(gemma, RMSNorm, at + 1, x=post.x), message)
    refused(with_changed(gemma, SelectRows, x=post.x), "residual stream should follow, not Select")
    refused(with_changed(gemma, RMSNorm, at, eps=0.5), "norms of a step should have one eps")
    for changes in ({"residual": elsewhere(post.x)}, {"y": elsewhere(post.y)}):
        refused(with_changed(gemma, RMSNorm, at, **changes), "a norm adds to the residual stream")
    refused(replace(gemma, operations=[post, following]), "a norm adds to the residual stream")
    second = [op for op in llama.operations if isinstance(op, RMSNorm)][1]
    place = llama.operations.index(second)
    twice = replace(second, x=elsewhere(second.x), y=second.x, residual=second.x)
    operations = [*llama.operations[:place], twice, twice, *llama.operations[place:]]
    message = "a norm of the residual stream should follow, not RMSNorm"
    refused(replace(llama, operations=operations), message)


def test_products_that_no_step_takes(llama: Tape) -> None:
    products = [op for op in llama.operations if isinstance(op, MatMul)]
    at = next(at for at, product in enumerate(products) if product.residual is not None)
    product, place = products[at], llama.operations.index(products[at])
    message = "a product with a residual adds to the residual stream"
    refused(with_changed(llama, MatMul, at, residual=elsewhere(product.y)), message)
    refused(with_changed(llama, MatMul, at, y=elsewhere(product.y)), message)
    refused(replace(llama, operations=[product]), "no step does MatMul here")
    message = "a product that adds to the residual stream is a step of its own"
    plain = replace(product, y=elsewhere(product.y), residual=None)
    for others in ([product, product], [product, plain], [plain, product]):
        operations = [*llama.operations[:place], *others, *llama.operations[place + 1 :]]
        refused(replace(llama, operations=operations), message)
    normed = replace(products[0], y=product.y, residual=product.y)
    message = "adds to the residual stream that other groups still read"
    refused(replace(llama, operations=[*llama.operations[:2], normed]), message)
    refused(with_changed(llama, MatMul, at, x=product.y), "no step does MatMul here")


def test_gated_units_that_no_step_takes(gemma: Tape) -> None:
    unit = next(op for op in gemma.operations if isinstance(op, GatedUnit))
    message = "gated unit should follow its two products"
    refused(with_changed(gemma, GatedUnit, gate=unit.up, up=unit.gate), message)
    cut = replace(gemma, operations=gemma.operations[: gemma.operations.index(unit) + 1])
    refused(cut, "a gated unit that no product reads")


def test_attention_that_no_step_does(gemma: Tape) -> None:
    q, k = [op for op in gemma.operations if isinstance(op, Rotate)][:2]
    place = gemma.operations.index(q)
    three = replace(gemma, operations=gemma.operations[: place + 3])
    refused(three, "attention should be two rotations, a store and the sums")
    store = gemma.operations[place + 2]
    assert isinstance(store, CacheStore)
    changed: list[tuple[type[Operation], dict[str, Any]]] = [
        (Rotate, {"x": elsewhere(q.x)}),
        (CacheStore, {"k": elsewhere(k.x)}),
        (Attend, {"cache": replace(store.cache, keys=64)}),
    ]
    for kind, changes in changed:
        message = "attention should be of the queries, keys and cells before it"
        refused(with_changed(gemma, kind, **changes), message)
    for changes in (
        {"pairing": Pairing.ADJACENT},
        {"table": replace(k.table, name="of its own")},
        {"scale": 0.5},
        {"eps": 0.5},
    ):
        message = "queries and keys should be rotated alike, and keys not scaled"
        refused(with_changed(gemma, Rotate, 1, **changes), message)
    short = Weight("short", F32, 15, 2)
    broken = with_changed(with_changed(gemma, Rotate, table=short), Rotate, 1, table=short)
    refused(broken, "30 rotated values of a head; steps take fours")
