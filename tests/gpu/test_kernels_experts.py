"""Choosing experts, listing who uses which, and their products."""

from collections.abc import Sequence

import numpy as np
import pytest
from support.kernel_bench import KernelBench
from support.weight_blocks import BY_NAME, NARROW, expand, random_blocks

from llm.gpu.device.lanes import has_lanes
from llm.gpu.device.matrices import multiplies
from llm.gpu.device.placement import place
from llm.gpu.dispatch.dispatches import Scratch
from llm.gpu.dispatch.lowering_experts import ExpertLowering
from llm.gpu.dispatch.lowering_products import (
    Addresses,
    ProductLowering,
    product_scratch_floats,
)
from llm.gpu.kernels.matrix_tiles import EXPERT_TILES, SMALL_MATRIX_TILES, Tile
from llm.gpu.operations import (
    Choice,
    ExpertMatMul,
    ExpertSum,
    GatedAdd,
    Route,
    Scoring,
    Tensor,
    Weight,
)
from llm.gpu.tape import Tape

UNTOUCHED = np.float32(-7.5)
F32 = BY_NAME["f32"]
SCRATCH = 1 << 20  # float where it starts
# Of the sum of magnitudes: 60 roundings to float32; of products by matrices those to float16.
EXACT, ROUNDED = 60 * 2.0**-24, 3 * 2.0**-11
# One of each kind of planes: how blocks are read, test_kernels_products.py tests of every format.
FORMATS = ("f16", "q5_0", "q4_k", "q6_k", "iq3_s")

Kind = tuple[bool, bool, tuple[Tile, ...]]  # software, lanes, tiles


def kinds(bench: KernelBench) -> dict[str, Kind]:
    tiles: tuple[Tile, ...] = EXPERT_TILES if multiplies(bench.device, 32) else SMALL_MATRIX_TILES
    if not multiplies(bench.device, tiles[0].subgroup_size):
        tiles = ()
    return {
        "software": (True, False, ()),
        "lanes": (True, has_lanes(bench.device), ()),
        "hardware": (False, False, ()),
        "matrices": (False, False, tiles),
    }


def lowering(
    bench: KernelBench, weights: Sequence[Weight], kind: str, tape: Tape
) -> ExpertLowering:
    is_cpu, by_lanes, tiles = kinds(bench)[kind]
    layout = place(weights)
    work, cache, shard = map(bench.space_address, ("work", "cache", "weights"))
    addresses = Addresses(work, cache, (shard,))
    products = ProductLowering(
        layout,
        Scratch(SCRATCH, product_scratch_floats(tape, tiles)),
        tiles,
        is_cpu=is_cpu,
        addresses=addresses if by_lanes else None,
    )
    products.begin(tape.operations)
    made = ExpertLowering(layout, products)
    made.begin()
    return made


def choose(bench: KernelBench, choice: Choice, experts: np.ndarray, shares: np.ndarray) -> None:
    bench.put("work", choice.rows.offset, np.hstack((experts, shares)).astype(np.float32))


def tensor_of(bench: KernelBench, tensor: Tensor, values: np.ndarray | None = None) -> None:
    """Puts the first rows of a tensor; all of it is untouched where there are none."""
    if values is None:
        values = np.full((tensor.rows, tensor.width), UNTOUCHED)
    bench.put("work", tensor.offset, values.astype(np.float32))


def found_in(bench: KernelBench, tensor: Tensor, rows: int) -> np.ndarray:
    """What its first rows are; the others must be untouched."""
    found = bench.floats(tensor.offset, tensor.rows, tensor.width)
    assert (found[rows:] == UNTOUCHED).all()
    return found[:rows]


@pytest.mark.parametrize("scoring", Scoring)
@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("has_gains", [True, False])
@pytest.mark.parametrize(
    ("experts", "used"), [(1, 1), (7, 3), (64, 8), (128, 8), (300, 10), (512, 32)]
)
def test_route(
    bench: KernelBench,
    experts: int,
    used: int,
    has_gains: bool,
    biased: bool,
    normalised: bool,
    scoring: Scoring,
) -> None:
    source = np.random.default_rng(experts)
    tape = Tape(5, 1)
    logits, choice = tape.tensor(experts), tape.choice(experts, used)
    bias = Weight("bias", F32, 1, experts) if biased else None
    gains = Weight("gains", F32, 1, experts) if has_gains else None
    values = source.normal(0.0, 2.0, (3, experts)).astype(np.float32)
    values[1, : experts // 2] = values[1, 0]  # of equal ones the first
    offsets = source.normal(0.0, 0.3, experts).astype(np.float32)
    offsets[: experts // 2] = 0.1
    factors = source.uniform(0.2, 3.0, experts).astype(np.float32)
    weights = [weight for weight in (bias, gains) if weight is not None]
    placements = place(weights).placements
    for name, numbers in (("bias", offsets), ("gains", factors)):
        if name in placements:
            bench.put("weights", placements[name].planes[0], numbers)
    tensor_of(bench, logits, values)
    tensor_of(bench, choice.rows)
    bench.put_state(ROWS=3, OUTPUTS=0)
    op = Route(logits, bias, choice, scoring, normalised, 1.5, gains)
    bench.play([lowering(bench, weights, "hardware", tape).route(op)])
    found = found_in(bench, choice.rows, 3)

    exact = values.astype(np.float64)
    if scoring is Scoring.SOFTMAX:
        scores = np.exp(exact) / np.exp(exact).sum(axis=1, keepdims=True)
    else:
        scores = 1.0 / (1.0 + np.exp(-exact))
    ranked = scores + (offsets if biased else 0.0)
    chosen = np.argsort(-ranked, axis=1, kind="stable")[:, :used]
    shares = np.take_along_axis(scores, chosen, axis=1)
    if normalised:
        shares /= shares.sum(axis=1, keepdims=True)
    if has_gains:
        shares *= factors[chosen]
    assert (found[:, :used] == chosen).all()
    assert np.allclose(found[:, used:], 1.5 * shares, rtol=1e-5, atol=0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_chooses_experts_that_exist(bench: KernelBench, bad: float) -> None:
    tape = Tape(2, 1)
    logits, choice = tape.tensor(9), tape.choice(9, 4)
    values = np.random.default_rng(1).normal(0.0, 1.0, (2, 9))
    values[0, 3] = bad
    values[1] = bad
    tensor_of(bench, logits, values)
    tensor_of(bench, choice.rows)
    bench.put_state(ROWS=2, OUTPUTS=0)
    op = Route(logits, None, choice, Scoring.SOFTMAX, True, 1.0)
    bench.play([lowering(bench, [], "hardware", tape).route(op)])
    found = found_in(bench, choice.rows, 2)
    assert np.isin(found[:, :4], np.arange(9)).all()
    assert np.isnan(found[1, 4:]).all()


@pytest.mark.parametrize("kind", ["software", "lanes", "hardware", "matrices"])
@pytest.mark.parametrize("name", FORMATS)
def test_product(bench: KernelBench, name: str, kind: str) -> None:
    for most, rows, apart in ((1, 1, False), (2, 1, True), (8, 5, True), (64, 50, False)):
        check_product(bench, name, kind, apart, most, rows)


def check_product(
    bench: KernelBench, name: str, kind: str, apart: bool, most: int, rows: int
) -> None:
    """Recorded for `most` rows; experts of a row have one x, or each its own."""
    _, by_lanes, tiles = kinds(bench)[kind]
    if (kind == "lanes" and not by_lanes) or (kind == "matrices" and not tiles):
        pytest.skip(f"{bench.device.name} has no {kind}")
    source = np.random.default_rng(rows)
    experts, used, height, width = 5, 2, 37, 96 if name in NARROW else 256
    tape = Tape(most, 1)
    choice = tape.choice(experts, used)
    x, y = tape.tensor(width * (used if apart else 1)), tape.tensor(used * height)
    weight = Weight("w", BY_NAME[name], experts * height, width)
    bias = Weight("b", F32, experts, height)
    tape.expert_matmul(weight, x, y, choice, bias=bias)
    blocks = random_blocks(name, experts * height, width, source)
    offsets = source.standard_normal((experts, height)).astype(np.float32)
    values = source.standard_normal((rows, x.width)).astype(np.float32)
    chosen = np.argsort(source.random((rows, experts)), axis=1)[:, :used]
    chosen[rows // 2 :] %= 3  # some have many rows, and perhaps some none
    placements = place([bias, weight]).placements
    bench.put("weights", placements["b"].planes[0], offsets)
    bench.put_weights(name, blocks, at=placements["w"].planes[0])
    choose(bench, choice, chosen, np.ones((rows, used)))
    tensor_of(bench, x, values)
    tensor_of(bench, y)
    bench.put_state(ROWS=rows, OUTPUTS=0)
    op = tape.operations[0]
    assert isinstance(op, ExpertMatMul)
    dispatches = lowering(bench, [bias, weight], kind, tape).multiply(op)
    assert (dispatches[0].kernel == "list_experts") == (most * used > experts)
    bench.play(dispatches)
    found = found_in(bench, y, rows).reshape(rows, used, height)

    matrices = expand(name, blocks).astype(np.float64).reshape(experts, height, width)
    inputs = values.reshape(rows, -1, width).astype(np.float64)  # (rows, 1 or U, K)
    inputs = np.broadcast_to(inputs, (rows, used, width))
    exact = np.einsum("rumk,ruk->rum", matrices[chosen], inputs) + offsets[chosen]
    magnitude = np.einsum("rumk,ruk->rum", np.abs(matrices[chosen]), np.abs(inputs)) + 1.0
    tolerance = ROUNDED if "matrix" in dispatches[-2].kernel else EXACT
    assert (np.abs(found - exact) <= tolerance * magnitude).all()


def test_lists(bench: KernelBench) -> None:
    """Each pair once, with its expert, in tiles that are full but for an expert's last."""
    source = np.random.default_rng(4)
    tape = Tape(64, 1)
    choice = tape.choice(300, 10)
    rows, size = 61, 8
    chosen = np.argsort(source.random((rows, 300)), axis=1)[:, :10]
    chosen[:, 0] = 299
    choose(bench, choice, chosen, np.ones((rows, 10)))
    bench.put_state(ROWS=rows, OUTPUTS=0)
    bench.play(lowering(bench, [], "software", tape)._list(choice, size))
    words = bench.words("work", choice.lists.offset, choice.lists.width)
    tiles = words[1 : 1 + 3 * words[0]].reshape(-1, 3)
    pairs = words[choice.pairs_at :][: rows * 10]
    assert sorted(pairs) == list(range(rows * 10))
    covered = 0
    for first, end, expert in tiles.tolist():
        own = pairs[first : min(end, first + size)]
        assert first == covered
        assert (chosen.reshape(-1)[own] == expert).all()
        assert len(own) == size or end == first + len(own)
        covered += len(own)
    assert covered == rows * 10


@pytest.mark.parametrize("in_place", [True, False, None], ids=["in place", "apart", "no residual"])
def test_sum(bench: KernelBench, in_place: bool | None) -> None:
    source = np.random.default_rng(2)
    tape = Tape(4, 1)
    choice = tape.choice(9, 3)
    x, y, other = tape.tensor(3 * 70), tape.tensor(70), tape.tensor(70)
    residual = {True: y, False: other, None: None}[in_place]
    shares, values = source.random((3, 3)), source.standard_normal((3, 3, 70))
    before = source.standard_normal((3, 70))
    choose(bench, choice, np.zeros((3, 3)), shares)
    tensor_of(bench, x, values.reshape(3, -1))
    tensor_of(bench, y)
    if residual is not None:
        tensor_of(bench, residual, before)
    bench.put_state(ROWS=3, OUTPUTS=0)
    made = lowering(bench, [], "hardware", tape).sum_up(ExpertSum(x, choice, y, residual))
    bench.play([made])
    expected = np.einsum("ru,rui->ri", shares, values) + (0.0 if residual is None else before)
    assert np.allclose(found_in(bench, y, 3), expected, rtol=1e-5, atol=1e-5)


def test_gated_add(bench: KernelBench) -> None:
    source = np.random.default_rng(2)
    tape = Tape(4, 1)
    x, gate, y = tape.tensor(70), tape.tensor(1), tape.tensor(70)
    values, before = source.standard_normal((3, 70)), source.standard_normal((3, 70))
    gates = np.array([[-200.0], [0.3], [200.0]])
    for tensor, content in ((x, values), (gate, gates), (y, None), (y, before)):
        tensor_of(bench, tensor, content)
    bench.put_state(ROWS=3, OUTPUTS=0)
    bench.play([lowering(bench, [], "hardware", tape).add_gated(GatedAdd(x, gate, y, y))])
    shares = 1.0 / (1.0 + np.exp(-np.clip(gates, -60, 60)))
    assert np.allclose(found_in(bench, y, 3), before + shares * values, rtol=1e-5, atol=1e-6)
