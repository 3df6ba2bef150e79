"""Products of a few columns by lanes, in every block format; the probe that lets them be used."""

import numpy as np
import pytest
from support.kernel_bench import KernelBench
from support.weight_blocks import (
    HALF_SCALED,
    NARROW,
    QUANTS,
    constant_blocks,
    expand,
    random_blocks,
)

from llm.errors import DeviceError
from llm.gpu import state
from llm.gpu.device import lanes, probes
from llm.gpu.device.lanes import has_lanes
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.dispatch.launches_products import plan_product
from llm.gpu.kernels import shader_source
from llm.gpu.kernels.kernel import FORMAT_IDS
from llm.gpu.kernels.variants import LANES_PARTS

X = 4  # floats: addresses of x are multiples of 16 bytes
RESIDUAL = 1 << 19
Y = 1 << 20
UNTOUCHED = np.float32(-7.5)
# Of the sum of magnitudes: 60 roundings to float32, in whatever order the sum is made.
TOLERANCE = 60 * 2.0**-24
SIZES = [(37, 256), (130, 768), (8, 2048), (5, 512)]
NARROW_SIZES = [(37, 96), (64, 32), (5, 640), (11, 192)]  # rows that are no whole K-quant block
EVERY_COUNT = ("f16", "q5_0", "q6_k")  # formats that are tried with any number of columns


@pytest.fixture(autouse=True)
def with_lanes(bench: KernelBench) -> None:
    if not has_lanes(bench.device):
        assert "256 bits" not in bench.device.name  # there the probe has to find them
        pytest.skip(f"{bench.device.name} has no lanes")


def product(
    bench: KernelBench,
    name: str,
    blocks: np.ndarray,
    x: np.ndarray,
    residual: int = state.NONE,
    count: int | None = None,
) -> np.ndarray:
    """y (M,) for x (K,), or (C, M) for (C, K); what lies behind what counts must stay."""
    height, width = len(blocks), x.shape[-1]
    columns = x.size // width
    plan = plan_product(name, height, width, columns, is_cpu=True, has_lanes=True)
    assert plan.by_lanes
    bench.put("work", X, x)
    if residual != Y:
        bench.put("work", Y, np.full(columns * height + 8, UNTOUCHED))
    count = columns if count is None else count
    bench.put_state(ROWS=0, OUTPUTS=count)
    planes = bench.put_weights(name, blocks, at=1024)
    params = {
        **{
            f"plane_{n}": bench.address("weights", at) for n, at in zip("xyzw", planes, strict=True)
        },
        "x": bench.address("work", X),
        "height": height,
        "width": width,
        "y": Y,
        "residual": residual,
        "count_at": state.OUTPUTS,
    }
    bench.run([(plan.kernel, params, plan.groups)])
    found = bench.floats(Y, columns * height + 8)
    assert (found[count * height :] == UNTOUCHED).all()
    return found[: columns * height].reshape(*x.shape[:-1], height)


def check(found: np.ndarray, weights: np.ndarray, x: np.ndarray) -> None:
    exact = weights.astype(np.float64) @ x.astype(np.float64)
    magnitude = np.abs(weights).astype(np.float64) @ np.abs(x).astype(np.float64)
    assert (np.abs(found - exact) <= TOLERANCE * magnitude + 1e-30).all()


@pytest.mark.parametrize("name", FORMAT_IDS)
def test_product(bench: KernelBench, name: str) -> None:
    source = np.random.default_rng(1)
    for height, width in SIZES + NARROW_SIZES if name in NARROW else SIZES:
        blocks = random_blocks(name, height, width, source)
        x = source.standard_normal(width).astype(np.float32)
        check(product(bench, name, blocks, x), expand(name, blocks), x)


@pytest.mark.parametrize(
    ("name", "columns", "count"),
    [
        *((name, *counts) for name in EVERY_COUNT for counts in [(2, 2), (4, 4), (4, 2), (2, 1)]),
        *((name, 3, 3) for name in FORMAT_IDS),
    ],
)
def test_columns(bench: KernelBench, name: str, columns: int, count: int) -> None:
    """All of a kernel's, fewer, and fewer than were planned for."""
    source = np.random.default_rng(columns)
    for height, width in SIZES + NARROW_SIZES if name in NARROW else SIZES:
        blocks = random_blocks(name, height, width, source)
        x = source.standard_normal((columns, width)).astype(np.float32)
        found = product(bench, name, blocks, x, count=count)
        for column in range(count):
            check(found[column], expand(name, blocks), x[column])


def test_residuals_of_columns(bench: KernelBench) -> None:
    source = np.random.default_rng(3)
    blocks = random_blocks("q5_0", 37, 96, source)
    x, added = (source.standard_normal((3, size)).astype(np.float32) for size in (96, 37))
    bench.put("work", RESIDUAL, added)
    found = product(bench, "q5_0", blocks, x, residual=RESIDUAL)
    exact = x.astype(np.float64) @ expand("q5_0", blocks).T + added
    magnitude = np.abs(x) @ np.abs(expand("q5_0", blocks)).T + np.abs(added)
    assert (np.abs(found - exact) <= TOLERANCE * magnitude).all()


def test_no_output(bench: KernelBench) -> None:
    blocks = random_blocks("q8_0", 37, 96, np.random.default_rng(2))
    found = product(bench, "q8_0", blocks, np.ones(96, np.float32), count=0)
    assert (found == UNTOUCHED).all()


@pytest.mark.parametrize("at", [RESIDUAL, Y], ids=["apart", "in place"])
def test_residual(bench: KernelBench, at: int) -> None:
    source = np.random.default_rng(3)
    blocks = random_blocks("q4_k", 37, 768, source)
    x = source.standard_normal(768).astype(np.float32)
    added = source.standard_normal(37).astype(np.float32)
    bench.put("work", at, np.concatenate((added, np.full(8, UNTOUCHED))))
    found = product(bench, "q4_k", blocks, x, residual=at)
    # a residual is one more term of each sum
    exact = expand("q4_k", blocks).astype(np.float64) @ x + added
    magnitude = np.abs(expand("q4_k", blocks)) @ np.abs(x) + np.abs(added)
    assert (np.abs(found - exact) <= TOLERANCE * magnitude).all()


@pytest.mark.parametrize(
    ("byte", "half"),
    [
        pytest.param(0x00, 65504.0, id="no bit set, largest scale"),
        pytest.param(0xFF, 65504.0, id="every bit set, largest scale"),
        pytest.param(0x80, -1.0, id="top bits set, negative scale"),
        pytest.param(0x7F, 0.0, id="scale zero"),
        pytest.param(0xA5, 2.0**-24, id="smallest denormal scale"),
    ],
)
@pytest.mark.parametrize("name", QUANTS)
def test_extreme_blocks(bench: KernelBench, name: str, byte: int, half: float) -> None:
    blocks = constant_blocks(name, 9, 512, byte, half)
    x = np.random.default_rng(byte).standard_normal(512).astype(np.float32)
    check(product(bench, name, blocks, x), expand(name, blocks), x)


@pytest.mark.parametrize("name", HALF_SCALED)
def test_nan_stays_in_its_row(bench: KernelBench, name: str) -> None:
    source = np.random.default_rng(5)
    blocks = random_blocks(name, 35, 512, source)
    blocks[17] = constant_blocks(name, 1, 512, 0x5A, np.nan)
    found = product(bench, name, blocks, source.standard_normal(512).astype(np.float32))
    assert np.isnan(found[17])
    assert np.isfinite(np.delete(found, 17)).all()


def test_sizes_take_every_kernel() -> None:
    widths = [width for _, width in SIZES + NARROW_SIZES]
    kernels = {plan_product("q8_0", 8, k, 1, is_cpu=True, has_lanes=True).kernel for k in widths}
    assert kernels == {f"matvec_lanes_q8_0_{parts}_1" for parts in LANES_PARTS}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        pytest.param("run.at[i]", "run.at[i - 1u]", id="a neighbour's value"),
        pytest.param("gl_SubgroupSize == LANES", "gl_SubgroupSize == 4u", id="another size"),
        pytest.param("(i, 4u)", "(i, 2u)", id="a value of another lane"),
        pytest.param("lane_half(HalfRun(", "no_such_function(HalfRun(", id="does not compile"),
    ],
)
def test_probe_notices(
    bench: KernelBench, monkeypatch: pytest.MonkeyPatch, right: str, wrong: str
) -> None:
    source = shader_source.expand(lanes.PROBE)
    assert right in source
    name = f"{lanes.PROBE} {wrong}"
    monkeypatch.setattr(probes, "expand", lambda _: source.replace(right, wrong))
    pipeline, shader = RenderingDevice.pipeline, RenderingDevice.shader
    monkeypatch.setattr(
        RenderingDevice, "pipeline", lambda self, _, glsl: pipeline(self, name, glsl)
    )
    monkeypatch.setattr(RenderingDevice, "shader", lambda self, _: shader(self, name))
    assert probes.ask(bench.device, lanes.PROBE, lanes.probe_values()) != 1


def test_gpus_are_not_asked(bench: KernelBench, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise DeviceError("asked")

    monkeypatch.setattr(lanes, "probe", refuse)
    monkeypatch.setattr(bench.device, "is_cpu", False)
    assert not has_lanes(bench.device)
