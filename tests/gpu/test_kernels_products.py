"""Matrix products and embeddings in every block format, on sizes that no tile divides."""

from itertools import zip_longest

import numpy as np
import pytest
from support.kernel_bench import KernelBench
from support.weight_blocks import (
    BY_NAME,
    HALF_SCALED,
    NARROW,
    QUANTS,
    constant_blocks,
    expand,
    random_blocks,
)

from llm.files.repack import PLANES
from llm.gpu import state
from llm.gpu.dispatch.launches import embed_groups
from llm.gpu.dispatch.launches_products import plan_product
from llm.gpu.host_tables import MAX_FAR_BYTES
from llm.gpu.kernels.addresses import plane_fields
from llm.gpu.kernels.kernel import FORMAT_IDS

X = 0
RESIDUAL = 1 << 19  # floats
Y = 1 << 20
UNTOUCHED = np.float32(-7.5)
# Of the sum of magnitudes: 60 roundings to float32, in whatever order the sum is made.
TOLERANCE = 60 * 2.0**-24

SIZES = [(37, 256), (130, 768), (33, 2048)]
NARROW_SIZES = [(37, 96), (64, 32), (5, 640)]  # rows that are no whole K-quant block
# Sizes of tiles have nothing to do with formats: all with some, a few with every kernel.
EVERY_TILE = ("f16", "q5_0", "q6_k")
COUNTS = [(1, 1), (1, 8), (3, 8), (7, 8), (8, 8), (9, 32), (31, 32), (200, 256)]


def product(
    bench: KernelBench,
    name: str,
    blocks: np.ndarray,
    x: np.ndarray,
    most: int,
    *,
    is_cpu: bool,
    residual: int = state.NONE,
) -> np.ndarray:
    """y (columns, M) for x (columns, K), recorded for at most `most` columns."""
    height, (columns, width) = len(blocks), x.shape
    plan = plan_product(name, height, width, most, is_cpu=is_cpu)
    bench.put("work", X, x)
    if residual != Y:
        bench.put("work", Y, np.full((columns + 1) * height, UNTOUCHED))
    bench.put_state(ROWS=0, OUTPUTS=columns)
    params = {
        "planes": bench.put_weights(name, blocks),
        "height": height,
        "width": width,
        "x": X,
        "y": Y,
        "residual": residual,
        "count_at": state.OUTPUTS,
        "threads_per_row": plan.threads_per_row,
    }
    bench.run([(plan.kernel, params, plan.groups)])
    found = bench.floats(Y, columns + 1, height)
    assert (found[columns] == UNTOUCHED).all()
    return found[:columns]


def check(found: np.ndarray, weights: np.ndarray, x: np.ndarray) -> None:
    exact = x.astype(np.float64) @ weights.T.astype(np.float64)
    magnitude = np.abs(x).astype(np.float64) @ np.abs(weights).T.astype(np.float64)
    assert (np.abs(found - exact) <= TOLERANCE * magnitude + 1e-30).all()


@pytest.mark.parametrize("is_cpu", [True, False], ids=["software", "hardware"])
@pytest.mark.parametrize(
    ("name", "columns", "most"),
    [
        *((name, *counts) for name in EVERY_TILE for counts in COUNTS),
        *((name, *counts) for name in FORMAT_IDS for counts in [(3, 8), (9, 32)]),
    ],
    ids=lambda value: str(value),
)
def test_product(bench: KernelBench, name: str, columns: int, most: int, is_cpu: bool) -> None:
    source = np.random.default_rng(columns)
    for height, width in SIZES + NARROW_SIZES if name in NARROW else SIZES:
        blocks = random_blocks(name, height, width, source)
        x = source.standard_normal((columns, width)).astype(np.float32)
        found = product(bench, name, blocks, x, most, is_cpu=is_cpu)
        check(found, expand(name, blocks), x)


@pytest.mark.parametrize("is_cpu", [True, False], ids=["software", "hardware"])
@pytest.mark.parametrize("at", [RESIDUAL, Y], ids=["apart", "in place"])
@pytest.mark.parametrize("columns", [1, 5, 40])
def test_residual(bench: KernelBench, columns: int, at: int, is_cpu: bool) -> None:
    source = np.random.default_rng(columns)
    blocks = random_blocks("q4_k", 37, 768, source)
    x = source.standard_normal((columns, 768)).astype(np.float32)
    added = source.standard_normal((columns, 37)).astype(np.float32)
    bench.put("work", at, np.vstack((added, np.full((1, 37), UNTOUCHED))))
    found = product(bench, "q4_k", blocks, x, columns, is_cpu=is_cpu, residual=at)
    # a residual is one more term of the sum
    with_one = np.hstack((expand("q4_k", blocks), np.eye(37)))
    check(found, with_one, np.hstack((x, added)))


@pytest.mark.parametrize("is_cpu", [True, False], ids=["software", "hardware"])
@pytest.mark.parametrize(
    ("byte", "half"),
    [
        pytest.param(0x00, 65504.0, id="no bit set, largest scale"),
        pytest.param(0xFF, 65504.0, id="every bit set, largest scale"),
        pytest.param(0x80, -1.0, id="top bits set, negative scale"),
        pytest.param(0x7F, 0.0, id="scale zero"),
        pytest.param(0xA5, 2.0**-24, id="smallest denormal scale"),
        pytest.param(0xA5, -(2.0**-14) * 0.75, id="negative denormal scale"),
    ],
)
@pytest.mark.parametrize("columns", [8, 9])
@pytest.mark.parametrize("name", QUANTS)
def test_extreme_blocks(
    bench: KernelBench, name: str, columns: int, byte: int, half: float, is_cpu: bool
) -> None:
    blocks = constant_blocks(name, 9, 512, byte, half)
    x = np.random.default_rng(byte).standard_normal((columns, 512)).astype(np.float32)
    most = 8 if columns <= 8 else 32
    found = product(bench, name, blocks, x, most, is_cpu=is_cpu)
    check(found, expand(name, blocks), x)


@pytest.mark.parametrize("is_cpu", [True, False], ids=["software", "hardware"])
@pytest.mark.parametrize("columns", [5, 12])
@pytest.mark.parametrize("name", HALF_SCALED)
def test_nan_stays_in_its_row(bench: KernelBench, name: str, columns: int, is_cpu: bool) -> None:
    source = np.random.default_rng(5)
    blocks = random_blocks(name, 35, 512, source)
    blocks[17] = constant_blocks(name, 1, 512, 0x5A, np.nan)
    x = source.standard_normal((columns, 512)).astype(np.float32)
    most = 8 if columns <= 8 else 32
    found = product(bench, name, blocks, x, most, is_cpu=is_cpu)
    assert np.isnan(found[:, 17]).all()
    assert np.isfinite(np.delete(found, 17, axis=1)).all()


@pytest.mark.parametrize("name", FORMAT_IDS)
def test_weights_after_others(bench: KernelBench, name: str) -> None:
    source = np.random.default_rng(11)
    blocks = random_blocks(name, 50, 512, source)
    tokens = [3, 0, 49, 3, 17]
    planes = bench.put_weights(name, blocks, at=4096 + 4)
    bench.put_state(ROWS=len(tokens), TOKENS=tokens)
    bench.put("work", Y, np.full(6 * 512, UNTOUCHED))
    params = {**plane_fields(planes), "width": 512, "y": Y, "scale": 1.5}
    bench.run([(f"embed_{name}", params, embed_groups(name, 512, 8))])
    found = bench.floats(Y, 6, 512)
    expected = np.float32(1.5) * expand(name, blocks)[tokens]
    assert np.allclose(found[:5], expected, rtol=3 * 2.0**-24, atol=0)  # three roundings
    assert (found[5] == UNTOUCHED).all()


@pytest.mark.parametrize("name", FORMAT_IDS)
def test_the_last_rows_of_the_largest_table(bench: KernelBench, name: str) -> None:
    """Of nearly 4 GiB, of which only these are there: the addresses say that it begins before."""
    form, width = BY_NAME[name], 512
    blocks = random_blocks(name, 50, width, np.random.default_rng(13))
    before = (MAX_FAR_BYTES // form.size_of(width) - 50) // 64 * 64  # rows
    parts = [before * form.blocks_in(width) * part.size for part in PLANES[name]]
    starts = bench.put_weights(name, blocks)
    first = bench.space_address("weights")
    addresses = [
        first + 4 * start - skipped for start, skipped in zip_longest(starts, parts, fillvalue=0)
    ]
    rows = [49, 0, 17]
    bench.put_state(ROWS=3, TOKENS=[before + row for row in rows])
    params = {**plane_fields(addresses), "width": width, "y": Y, "scale": 1.0}
    bench.run([(f"embed_far_{name}", params, embed_groups(name, width, 8))])
    found = bench.floats(Y, 3, width)
    assert np.allclose(found, expand(name, blocks)[rows], rtol=3 * 2.0**-24, atol=0)


def test_formats() -> None:
    assert {name: BY_NAME[name].id for name in FORMAT_IDS} == FORMAT_IDS


@pytest.mark.parametrize("is_cpu", [True, False])
def test_rows_of_odd_width_are_refused(is_cpu: bool) -> None:
    with pytest.raises(ValueError, match="rows of 100 weights"):
        plan_product("f32", 8, 100, 1, is_cpu=is_cpu)
