"""Products by cooperative matrices, in every block format, on sizes that no tile divides.

Software drivers take the small tiles, of one subgroup of eight; the kernel is the same.
"""

from collections.abc import Iterable

import numpy as np
import pytest
from support import kernel_bench
from support.kernel_bench import KernelBench, Launch
from support.kernel_samples import samples
from support.plain_fragments import plain_fragments
from support.weight_blocks import (
    HALF_SCALED,
    NARROW,
    QUANTS,
    constant_blocks,
    expand,
    random_blocks,
)

import godot
from llm.gpu import state
from llm.gpu.device.matrices import has_fragments, multiplies
from llm.gpu.device.rendering_device import COMPUTE_STAGE
from llm.gpu.dispatch.launches import thread_groups
from llm.gpu.dispatch.launches_products import (
    ProductPlan,
    halves_floats,
    parts_floats,
    plan_product,
)
from llm.gpu.kernels.kernel import FORMAT_IDS
from llm.gpu.kernels.matrix_tiles import (
    FEW_TILES,
    MATRIX_TILES,
    SMALL_MATRIX_TILES,
    FewTile,
    MatrixTile,
    Tile,
)
from llm.gpu.kernels.shader_source import expand as expand_source
from llm.gpu.kernels.variants import KERNELS
from llm.gpu.operations import Activation

X = 0  # floats
HALVES = 1 << 18
Y = 1 << 19
PARTS = 1 << 20
RESIDUAL = (1 << 21) - (1 << 18)
UNTOUCHED = np.float32(-7.5)
# Of the sum of magnitudes: a weight and a value each round to 11 bits, sums to float32.
TOLERANCE = 2.0**-10 + 60 * 2.0**-24
LEAST_HALF = 2.0**-25  # half of the smallest float16 step, where weights are tiny

NO_SOURCE = {"up": state.NONE, "activation": 0, "norm": state.NONE, "eps": 0.0, "each": 1}

SIZES = [(37, 256), (130, 768), (33, 2048)]
NARROW_SIZES = [(37, 96), (64, 32), (5, 640)]  # rows that are no whole K-quant block
EVERY_TILE = ("f16", "q5_0", "q6_k")  # formats that are tried with every kernel
# Those that matmul_matrix is tried with, which takes software drivers 25 s to compile: floats,
# signed bytes, an offset, a grid. All are tried with matmul_few, which decodes them alike.
OF_EACH_KIND = ("bf16", "q8_0", "q5_1", "iq3_s")


@pytest.fixture(scope="module")
def tiles(bench: KernelBench) -> tuple[MatrixTile, ...]:
    for tiles in (MATRIX_TILES, SMALL_MATRIX_TILES):
        if multiplies(bench.device, tiles[0].subgroup_size):
            return tiles
    pytest.skip(f"{bench.device.name} multiplies no cooperative matrices")


@pytest.fixture
def few_tiles(bench: KernelBench, monkeypatch: pytest.MonkeyPatch) -> tuple[FewTile, ...]:
    """Where lanes have other elements, what the driver multiplies is written out."""
    if not has_fragments(bench.device):
        monkeypatch.setattr(kernel_bench, "expand", plain_if_few)
    return FEW_TILES


def plain_if_few(name: str) -> str:
    glsl = expand_source(name)
    return plain_fragments(glsl) if KERNELS[name].source == "matmul_few.comp" else glsl


def all_with_few(names: Iterable[str]) -> list[tuple[str, str]]:
    """Formats and the kernels that they are tried with."""
    names = tuple(names)
    by_tiles = [("tiles", name) for name in ("q5_0", "q6_k", *OF_EACH_KIND) if name in names]
    return by_tiles + [("few_tiles", name) for name in names]


@pytest.fixture(params=["tiles", "few_tiles"])
def tiles_of_few(request: pytest.FixtureRequest) -> tuple[Tile, ...]:
    """What multiplies at most 16 columns."""
    found: tuple[Tile, ...] = request.getfixturevalue(request.param)
    return found


def test_lavapipe_multiplies_matrices(bench: KernelBench) -> None:
    if "256 bits" not in bench.device.name:
        pytest.skip("not lavapipe with subgroups of eight")
    assert multiplies(bench.device, 8)
    assert not multiplies(bench.device, 32)
    assert not has_fragments(bench.device)


@pytest.mark.parametrize(
    "name",
    samples(
        name
        for name, kernel in KERNELS.items()
        if kernel.source in ("matmul_matrix.comp", "matmul_few.comp", "probe_fragments.comp")
    ),
)
def test_compile(bench: KernelBench, name: str) -> None:
    """The large tiles, too, which software drivers may refuse."""
    source = godot.RDShaderSource()
    source.set_stage_source(COMPUTE_STAGE, expand_source(name))
    compiled = bench.device._device.shader_compile_spirv_from_source(source)
    assert compiled.get_stage_compile_error(COMPUTE_STAGE) == ""


def product(
    bench: KernelBench,
    plan: ProductPlan,
    name: str,
    blocks: np.ndarray,
    x: np.ndarray,
    residual: int = state.NONE,
) -> np.ndarray:
    """y (columns, M) for x (columns, K); `residual` is where floats were put, or Y."""
    height, (columns, width) = len(blocks), x.shape
    bench.put("work", X, x)
    if residual != Y:
        bench.put("work", Y, np.full((columns + 1) * height, UNTOUCHED))
    bench.put_state(ROWS=0, OUTPUTS=columns)
    assert halves_floats(width, columns) <= Y - HALVES
    assert parts_floats(height, columns, plan.parts) <= RESIDUAL - PARTS
    count = {"count_at": state.OUTPUTS}
    halve = {**NO_SOURCE, "width": width, "x": X, "y": HALVES, **count}
    multiply = {
        "planes": bench.put_weights(name, blocks),
        "height": height,
        "width": width,
        "x": HALVES,
        "y": Y if plan.parts == 1 else PARTS,
        "residual": residual if plan.parts == 1 else state.NONE,
        "threads_per_row": 1,
        **count,
    }
    launches: list[Launch] = [
        ("halve_rows", halve, (columns + 3, 1, 1)),
        (plan.kernel, multiply, plan.groups),
    ]
    if plan.parts > 1:
        add = {
            "parts": PARTS,
            "y": Y,
            "residual": residual,
            "n_parts": plan.parts,
            "width": height,
            **count,
        }
        launches.append(("sum_parts", add, thread_groups("sum_parts", columns * height)))
    bench.run(launches)
    found = bench.floats(Y, columns + 1, height)
    assert (found[columns] == UNTOUCHED).all()
    return found[:columns]


def check(found: np.ndarray, weights: np.ndarray, x: np.ndarray, least: float = LEAST_HALF) -> None:
    exact = x.astype(np.float64) @ weights.T.astype(np.float64)
    magnitude = np.abs(x).astype(np.float64) @ np.abs(weights).T.astype(np.float64)
    tiny = least * np.abs(x).astype(np.float64).sum(axis=1, keepdims=True)
    assert (np.abs(found - exact) <= TOLERANCE * magnitude + tiny).all()


@pytest.mark.parametrize(
    ("name", "tile", "columns", "most"),
    [
        *(
            (name, tile, *counts)
            for name in EVERY_TILE
            for tile in (0, 1)
            for counts in [(9, 9), (31, 32), (70, 128)]
        ),
        *((name, 0, 17, 32) for name in OF_EACH_KIND),
    ],
)
def test_product(
    bench: KernelBench,
    tiles: tuple[MatrixTile, ...],
    name: str,
    columns: int,
    most: int,
    tile: int,
) -> None:
    source = np.random.default_rng(columns)
    for height, width in SIZES + NARROW_SIZES if name in NARROW else SIZES:
        blocks = random_blocks(name, height, width, source)
        x = source.standard_normal((columns, width)).astype(np.float32)
        plan = plan_product(name, height, width, most, is_cpu=False, tiles=tiles[tile : tile + 1])
        assert plan.parts > 1 or width < 2048
        check(product(bench, plan, name, blocks, x), expand(name, blocks), x)


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        *((name, columns) for name in EVERY_TILE for columns in [1, 2, 7, 8, 9]),
        *((name, 16) for name in FORMAT_IDS),
    ],
)
def test_few_columns(
    bench: KernelBench, few_tiles: tuple[FewTile, ...], name: str, columns: int
) -> None:
    source = np.random.default_rng(columns)
    for height, width in SIZES + NARROW_SIZES if name in NARROW else SIZES:
        blocks = random_blocks(name, height, width, source)
        x = source.standard_normal((columns, width)).astype(np.float32)
        most = max(columns, 2)
        plan = plan_product(name, height, width, most, is_cpu=False, tiles=few_tiles)
        check(product(bench, plan, name, blocks, x), expand(name, blocks), x)


@pytest.mark.parametrize("in_place", [True, False])
def test_few_columns_with_a_residual(
    bench: KernelBench, few_tiles: tuple[FewTile, ...], in_place: bool
) -> None:
    source = np.random.default_rng(4)
    blocks = random_blocks("q8_0", 50, 256, source)
    x = source.standard_normal((5, 256)).astype(np.float32)
    plan = plan_product("q8_0", 50, 256, 8, is_cpu=False, tiles=few_tiles)
    plain = product(bench, plan, "q8_0", blocks, x)
    residual = source.standard_normal((5, 50)).astype(np.float32)
    at = Y if in_place else RESIDUAL
    bench.put("work", at, residual)
    found = product(bench, plan, "q8_0", blocks, x, at)
    assert np.allclose(found, plain + residual, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("width", [256, 1024])
def test_residual(
    bench: KernelBench, tiles: tuple[MatrixTile, ...], width: int, in_place: bool
) -> None:
    """Of sums in one part and in several."""
    source = np.random.default_rng(4)
    blocks = random_blocks("q8_0", 50, width, source)
    x = source.standard_normal((20, width)).astype(np.float32)
    plan = plan_product("q8_0", 50, width, 32, is_cpu=False, tiles=tiles)
    assert (plan.parts > 1) == (width > 256)
    plain = product(bench, plan, "q8_0", blocks, x)
    residual = source.standard_normal((20, 50)).astype(np.float32)
    at = Y if in_place else RESIDUAL
    bench.put("work", at, residual)
    found = product(bench, plan, "q8_0", blocks, x, at)
    assert np.allclose(found, plain + residual, rtol=1e-5, atol=1e-5)


def test_rows_of_any_size(bench: KernelBench, tiles_of_few: tuple[Tile, ...]) -> None:
    """Float16 ends at 65504 and at 6e-8; activations of real models go beyond the first."""
    source = np.random.default_rng(8)
    blocks = random_blocks("q5_0", 40, 640, source)
    x = source.standard_normal((12, 640))
    x *= 10.0 ** np.array([-30, -12, -6, -3, -1, 0, 1, 3, 6, 12, 30, 0])[:, None]
    x[11] = 0.0
    x[5, 7] = 1e5  # one value far from the others
    x = x.astype(np.float32)
    plan = plan_product("q5_0", 40, 640, 16, is_cpu=False, tiles=tiles_of_few)
    found = product(bench, plan, "q5_0", blocks, x)
    weights = expand("q5_0", blocks)
    check(found[:5], weights, x[:5])
    check(found[6:], weights, x[6:])
    assert (found[11] == 0.0).all()
    largest = np.abs(weights).sum(axis=1) * 1e5  # the others have lost what is 2^-24 of the largest
    exact = x[5].astype(np.float64) @ weights.T.astype(np.float64)
    assert (np.abs(found[5] - exact) <= TOLERANCE * largest).all()


def test_infinite_and_nan_stay_in_their_column(
    bench: KernelBench, tiles_of_few: tuple[Tile, ...]
) -> None:
    source = np.random.default_rng(9)
    blocks = random_blocks("q6_k", 40, 512, source)
    x = source.standard_normal((16, 512)).astype(np.float32)
    x[3, 100], x[10, 5] = np.inf, np.nan
    plan = plan_product("q6_k", 40, 512, 16, is_cpu=False, tiles=tiles_of_few)
    found = product(bench, plan, "q6_k", blocks, x)
    assert not np.isfinite(found[[3, 10]]).any()
    assert np.isfinite(np.delete(found, [3, 10], axis=0)).all()


@pytest.mark.parametrize(
    ("tiles_of_few", "name"), all_with_few(HALF_SCALED), indirect=["tiles_of_few"]
)
def test_nan_weights_stay_in_their_row(
    bench: KernelBench, tiles_of_few: tuple[Tile, ...], name: str
) -> None:
    source = np.random.default_rng(5)
    blocks = random_blocks(name, 35, 512, source)
    blocks[17] = constant_blocks(name, 1, 512, 0x5A, np.nan)
    x = source.standard_normal((12, 512)).astype(np.float32)
    plan = plan_product(name, 35, 512, 16, is_cpu=False, tiles=tiles_of_few)
    found = product(bench, plan, name, blocks, x)
    assert np.isnan(found[:, 17]).all()
    assert np.isfinite(np.delete(found, 17, axis=1)).all()


@pytest.mark.parametrize("byte", [0x00, 0xFF, 0x80, 0x7F, 0xA5])
@pytest.mark.parametrize("half", [-1.0, 2.0**-24, -(2.0**-14) * 0.75])
@pytest.mark.parametrize(("tiles_of_few", "name"), all_with_few(QUANTS), indirect=["tiles_of_few"])
def test_extreme_blocks(
    bench: KernelBench, tiles_of_few: tuple[Tile, ...], name: str, byte: int, half: float
) -> None:
    blocks = constant_blocks(name, 9, 256, byte, half)
    x = np.random.default_rng(byte).standard_normal((9, 256)).astype(np.float32)
    plan = plan_product(name, 9, 256, 9, is_cpu=False, tiles=tiles_of_few)
    # a scale is rounded, too, where it is no whole number of the smallest steps: times 62 at most
    least = LEAST_HALF * (62 if name.startswith(("iq2", "iq3")) else 1)
    check(product(bench, plan, name, blocks, x), expand(name, blocks), x, least)


def halved(bench: KernelBench, kernel: str, rows: int, width: int, **fields: float) -> np.ndarray:
    """The rows that a kernel writes for `rows` rows at X, times their scales."""
    size = halves_floats(width, rows + 1)
    bench.put("work", HALVES, np.full(size, UNTOUCHED))
    bench.put_state(ROWS=rows)
    params = {**NO_SOURCE, "width": width, "x": X, "y": HALVES, "count_at": state.ROWS, **fields}
    bench.run([(kernel, params, (rows + 1, 1, 1))])
    found = bench.floats(HALVES, rows + 1, width // 2 + 4)
    assert (found[rows] == UNTOUCHED).all()
    halves = found[:rows, : width // 2].copy().view(np.float16).astype(np.float64)
    scales = found[:rows, width // 2]
    largest = np.abs(halves).max(axis=1)
    assert ((largest >= 2.0**13) & (largest <= 2.0**14)).all()
    assert (np.log2(scales) % 1 == 0).all()
    return halves * scales[:, None]


def close(found: np.ndarray, expected: np.ndarray) -> bool:
    """One rounding to 11 bits, but for what is tiny beside the largest of its row."""
    tiny = 2.0**-37 * np.abs(expected).max(axis=1, keepdims=True)
    return bool((np.abs(found - expected) <= 2.0**-10.9 * np.abs(expected) + tiny).all())


@pytest.mark.parametrize("width", [32, 640, 2080])
def test_halve_rows(bench: KernelBench, width: int) -> None:
    x = np.random.default_rng(1).standard_normal((5, width)) * 10.0 ** np.arange(-8, 12, 4)[:, None]
    bench.put("work", X, x.astype(np.float32))
    assert close(halved(bench, "halve_rows", 5, width), x.astype(np.float32))


@pytest.mark.parametrize("activation", list(Activation))
@pytest.mark.parametrize("width", [32, 640, 2080])
def test_halve_gated(bench: KernelBench, width: int, activation: Activation) -> None:
    gate, up = np.random.default_rng(2).standard_normal((2, 5, width)).astype(np.float32) * 3
    up *= np.float32(10.0) ** np.arange(-8, 12, 4, dtype=np.float32)[:, None]
    bench.put("work", X, gate)
    bench.put("work", PARTS, up)
    found = halved(bench, "halve_gated", 5, width, up=PARTS, activation=int(activation))
    g = gate.astype(np.float64)
    if activation is Activation.GELU:
        gated = g / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (g + 0.044715 * g**3)))
    elif activation is Activation.CLAMPED:
        gated = np.minimum(g, 7) / (1 + np.exp(-1.702 * np.minimum(g, 7)))
        up = np.clip(up, -7, 7) + 1
    elif activation is Activation.SIGMOID:
        gated = 1 / (1 + np.exp(-g))
    else:
        gated = g / (1 + np.exp(-g))
    # far below 0 a gate is the small difference of large numbers
    assert np.allclose(found, gated * up, rtol=6e-4, atol=1e-6 * np.abs(up).max(axis=1)[:, None])


@pytest.mark.parametrize("width", [32, 640, 2080])
def test_halve_normed(bench: KernelBench, width: int) -> None:
    source = np.random.default_rng(3)
    x = (source.standard_normal((5, width)) * 10.0 ** np.arange(-8, 12, 4)[:, None]).astype("f4")
    norm = source.standard_normal(width).astype(np.float32)
    bench.put("work", X, x)
    bench.put("weights", 4096, norm)
    found = halved(bench, "halve_normed", 5, width, norm=4096, eps=1e-6)
    mean_square = (x.astype(np.float64) ** 2).mean(axis=1, keepdims=True)
    expected = x * norm / np.sqrt(mean_square + 1e-6)
    assert close(found, expected)
