"""Kernels that work on one row of activations at a time."""

import numpy as np
import pytest
from support.kernel_bench import KernelBench

from llm.gpu import state
from llm.gpu.dispatch.launches import thread_groups
from llm.gpu.operations import Activation, Pairing
from llm.gpu.reference.dense import activated

X = 0
Y = 1 << 19  # floats
RESIDUAL = 1 << 20
NORM, TABLE = 64, 8192  # words
UNTOUCHED = np.float32(-7.5)
EPS = 1e-6


def normalised(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    return wide * weight / np.sqrt((wide**2).mean(axis=-1, keepdims=True) + EPS)


@pytest.mark.parametrize("width", [5, 127, 640, 2048])
@pytest.mark.parametrize("rows", [1, 3, 200])
@pytest.mark.parametrize("residual", ["none", "apart", "in place"])
def test_rms_norm(bench: KernelBench, width: int, rows: int, residual: str) -> None:
    source = np.random.default_rng(width)
    x = (3.0 * source.standard_normal((rows, width))).astype(np.float32)
    added = source.standard_normal((rows, width)).astype(np.float32)
    weight = source.uniform(-2.0, 2.0, width).astype(np.float32)
    at = Y if residual == "in place" else RESIDUAL
    bench.put("work", X, x)
    bench.put("work", Y, np.full((rows + 1) * width, UNTOUCHED))
    bench.put("work", at, added)
    bench.put("weights", NORM, weight)
    bench.put_state(ROWS=0, OUTPUTS=rows)
    params = {
        "norm": NORM,
        "width": width,
        "stride": width,
        "x": X,
        "y": Y,
        "residual": state.NONE if residual == "none" else at,
        "eps": EPS,
        "scale": 1.0,
        "count_at": state.OUTPUTS,
    }
    bench.run([("rms_norm", params, (rows + 3, 1, 1))])
    found = bench.floats(Y, rows + 1, width)
    expected = normalised(x, weight) + (0.0 if residual == "none" else added)
    assert np.allclose(found[:rows], expected, rtol=2e-6, atol=2e-6)
    assert (found[rows] == UNTOUCHED).all()


@pytest.mark.parametrize("has_weight", [True, False])
def test_rms_norm_of_parts(bench: KernelBench, has_weight: bool) -> None:
    source = np.random.default_rng(5)
    rows, parts, width, scale = 3, 5, 33, 0.375
    x = source.standard_normal((rows, parts, width)).astype(np.float32)
    added = source.standard_normal((rows + 1, parts, width)).astype(np.float32)
    weight = source.uniform(-2.0, 2.0, width).astype(np.float32)
    bench.put("work", X, x)
    bench.put("work", Y, added)
    bench.put("weights", NORM, weight)
    bench.put_state(ROWS=rows)
    params = {
        "norm": NORM if has_weight else state.NONE,
        "width": width,
        "stride": parts * width,
        "x": X,
        "y": Y,
        "residual": Y,
        "eps": EPS,
        "scale": scale,
        "count_at": state.ROWS,
    }
    bench.run([("rms_norm", params, (rows + 1, parts, 1))])
    found = bench.floats(Y, rows + 1, parts * width).reshape(added.shape)
    expected = scale * (added[:rows] + normalised(x, weight if has_weight else np.ones(width)))
    assert np.allclose(found[:rows], expected, rtol=2e-6, atol=2e-6)
    assert (found[rows] == added[rows]).all()


def test_rms_norm_in_place(bench: KernelBench) -> None:
    x = np.random.default_rng(1).standard_normal((7, 640)).astype(np.float32)
    bench.put("work", X, x)
    bench.put("weights", NORM, np.ones(640, np.float32))
    bench.put_state(ROWS=7)
    offsets = {"x": X, "y": X, "residual": state.NONE}
    params = {
        "norm": NORM,
        "width": 640,
        "stride": 640,
        **offsets,
        "eps": EPS,
        "scale": 1.0,
        "count_at": state.ROWS,
    }
    bench.run([("rms_norm", params, (7, 1, 1))])
    assert np.allclose(bench.floats(X, 7, 640), normalised(x, np.ones(640)), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize(
    ("head_size", "turned", "heads"),
    [(6, 6, 3), (10, 4, 3), (64, 64, 1), (200, 134, 5), (256, 256, 4), (512, 512, 2)],
)
@pytest.mark.parametrize("pairing", Pairing)
@pytest.mark.parametrize("base", [1e4, 1e6])
@pytest.mark.parametrize(
    ("has_norm", "magnitude", "is_tuned"),
    [(True, 1.0, False), (False, 1.0, False), (False, 1.25, True)],
)
def test_rotate(
    bench: KernelBench,
    head_size: int,
    turned: int,
    heads: int,
    pairing: Pairing,
    base: float,
    has_norm: bool,
    magnitude: float,
    is_tuned: bool,
) -> None:
    source = np.random.default_rng(head_size)
    positions = [0, 1, 511, 32767, 131071, 4095, 4096]
    rows, width = len(positions), heads * head_size
    x = source.standard_normal((rows, heads, head_size)).astype(np.float32)
    weight = source.uniform(0.5, 2.0, head_size).astype(np.float32)
    turns = base ** (-2.0 * np.arange(turned // 2) / turned) / (2.0 * np.pi)
    high = turns.astype(np.float32)
    low = (turns - high).astype(np.float32)
    stride = width + 8  # what lies between rows stays as it is
    strided = np.full((rows + 1, stride), UNTOUCHED)
    strided[:rows, :width] = x.reshape(rows, width)
    bench.put("work", X, strided)
    bench.put("weights", NORM, weight)
    bench.put("weights", TABLE, np.stack((high, low), axis=1))
    bench.put_state(ROWS=rows, POSITIONS=positions)
    params = {
        "norm": NORM if has_norm else state.NONE,
        "table": TABLE,
        "heads": heads,
        "head_size": head_size,
        "turned": turned,
        "pairing": int(pairing),
        "x": X,
        "stride": stride,
        "eps": EPS,
        "scale": 0.0625,
        "magnitude": magnitude,
        "temperature_rate": 0.5 if is_tuned else 0.0,
        "temperature_length": 4096,
    }
    bench.run([("rotate", params, (heads, rows + 1, 1))])
    found = bench.floats(X, rows + 1, stride)

    wide = normalised(x, weight) if has_norm else x.astype(np.float64)
    angle = 2.0 * np.pi * ((np.array(positions)[:, None] * turns) % 1.0)[:, None, :]
    # a pair as a complex number
    if pairing is Pairing.HALVES:
        pairs = wide[:, :, : turned // 2] + 1j * wide[:, :, turned // 2 : turned]
    else:
        pairs = wide[:, :, 0:turned:2] + 1j * wide[:, :, 1:turned:2]
    pairs *= magnitude * np.exp(1j * angle)
    parts = np.stack((pairs.real, pairs.imag), axis=2 if pairing is Pairing.HALVES else 3)
    parts = parts.reshape(rows, heads, turned)
    expected = 0.0625 * np.concatenate((parts, wide[:, :, turned:]), axis=2)
    if is_tuned:
        expected *= 1.0 + 0.5 * np.log1p(np.array(positions) // 4096)[:, None, None]
    # an angle may be off by 2^-24 turns, whatever the position
    assert np.abs(found[:rows, :width] - expected.reshape(rows, width)).max() < 4e-7 * (
        4 if is_tuned else 1
    )
    assert (found[:rows, width:] == UNTOUCHED).all()
    assert (found[rows] == UNTOUCHED).all()


@pytest.mark.parametrize("width", [5, 127, 640, 2048])
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("in_place", [True, False])
def test_layer_norm(bench: KernelBench, width: int, has_bias: bool, in_place: bool) -> None:
    """Of rows whose mean is large beside what they vary by."""
    source = np.random.default_rng(width)
    x = (3.0 * source.standard_normal((7, width)) + 20.0).astype(np.float32)
    weight, bias = source.uniform(-2.0, 2.0, (2, width)).astype(np.float32)
    bench.put("work", X, x)
    bench.put("work", Y, np.full(7 * width, UNTOUCHED))
    bench.put("weights", NORM, weight)
    bench.put("weights", TABLE, bias)
    bench.put_state(ROWS=0, OUTPUTS=6)
    params = {
        "weight_at": NORM,
        "bias": TABLE if has_bias else state.NONE,
        "width": width,
        "x": X,
        "y": X if in_place else Y,
        "eps": EPS,
        "count_at": state.OUTPUTS,
    }
    bench.run([("layer_norm", params, (7, 1, 1))])
    found = bench.floats(X if in_place else Y, 7, width)
    wide = x[:6].astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    expected = normalised(centred, weight) + (bias if has_bias else 0.0)
    assert np.allclose(found[:6], expected, rtol=1e-5, atol=1e-5)
    assert (found[6] == (x[6] if in_place else UNTOUCHED)).all()


@pytest.mark.parametrize("activation", [it for it in Activation if it is not Activation.CLAMPED])
def test_activate(bench: KernelBench, activation: Activation) -> None:
    x = (4.0 * np.random.default_rng(6).standard_normal((4, 99))).astype(np.float32)
    bench.put("work", X, x)
    bench.put_state(ROWS=3, OUTPUTS=0)
    params = {"x": X, "width": 99, "activation": int(activation)}
    bench.run([("activate", params, thread_groups("activate", 99, 4))])
    found = bench.floats(X, 4, 99)
    assert np.allclose(found[:3], activated(x[:3], activation), rtol=2e-6, atol=2e-6)
    assert (found[3] == x[3]).all()


def test_add_bias(bench: KernelBench) -> None:
    source = np.random.default_rng(4)
    x = source.standard_normal((7, 99)).astype(np.float32)
    bias = source.standard_normal(99).astype(np.float32)
    bench.put("work", X, np.concatenate((x.ravel(), [UNTOUCHED])))
    bench.put("weights", NORM, bias)
    bench.put_state(ROWS=3, OUTPUTS=6)
    params = {"bias": NORM, "x": X, "width": 99, "count_at": state.OUTPUTS}
    bench.run([("add_bias", params, thread_groups("add_bias", 99, 7))])
    found = bench.floats(X, 7, 99)
    assert (found[:6] == x[:6] + bias).all()
    assert (found[6] == x[6]).all()
    assert bench.floats(X + x.size, 1) == UNTOUCHED


@pytest.mark.parametrize("cap", [0.0, 30.0])
def test_scale_logits(bench: KernelBench, cap: float) -> None:
    source = np.random.default_rng(5)
    edges = [0.0, 1e-20, 200.0, -200.0, 1e6, -1e6, 1e38, -1e38, np.inf, -np.inf, np.nan]
    x = np.concatenate((40.0 * source.standard_normal(1001), edges)).astype(np.float32)
    rows = np.stack((x, -x, x))  # (O, V)
    bench.put("work", X, rows)
    bench.put_state(ROWS=1, OUTPUTS=2)
    params = {"x": X, "width": x.size, "scale": 0.25, "soft_cap": cap}
    groups = thread_groups("scale_logits", x.size, 3)
    bench.run([("scale_logits", params, groups)])
    found = bench.floats(X, 3, x.size)
    scaled = 0.25 * rows[:2].astype(np.float64)
    expected = cap * np.tanh(scaled / cap) if cap else scaled
    expected = np.where(np.isinf(scaled), scaled, expected)
    assert np.allclose(found[:2], expected, rtol=2e-7, atol=1e-5, equal_nan=True)
    assert np.array_equal(found[2], rows[2], equal_nan=True)


@pytest.mark.parametrize("activation", Activation)
def test_gated_unit(bench: KernelBench, activation: Activation) -> None:
    source = np.random.default_rng(2)
    edges = [0.0, -0.0, 5.0, -5.0, 30.0, -30.0, 1e4, -1e4, 1e20, -1e20, 3e38, -3e38]
    gate = np.concatenate((4.0 * source.standard_normal(1001), edges)).astype(np.float32)
    width = gate.size
    up = source.uniform(-1.0, 1.0, (3, width)).astype(np.float32)
    if activation is Activation.CLAMPED:
        up *= 20.0
    bench.put("work", X, np.stack((gate, gate[::-1], gate)))
    bench.put("work", RESIDUAL, up)
    bench.put("work", Y, np.full((4, width), UNTOUCHED))
    bench.put_state(ROWS=3)
    params = {"gate": X, "up": RESIDUAL, "y": Y, "width": width, "up_stride": width}
    params["activation"] = int(activation)
    bench.run([("gated_unit", params, thread_groups("gated_unit", width, 4))])
    found = bench.floats(Y, 4, width)
    wide = np.stack((gate, gate[::-1], gate)).astype(np.float64)
    if activation is Activation.GELU:
        inner = np.sqrt(2.0 / np.pi) * (wide + 0.044715 * wide**3)
        expected = 0.5 * wide * (1.0 + np.tanh(inner)) * up
    elif activation is Activation.CLAMPED:
        low = np.minimum(wide, 7.0)
        expected = 0.5 * low * (1.0 + np.tanh(0.851 * low)) * (np.clip(up, -7.0, 7.0) + 1.0)
    else:
        sigmoid = 0.5 * (1.0 + np.tanh(0.5 * wide))
        expected = (sigmoid if activation is Activation.SIGMOID else wide * sigmoid) * up
    # relative, but for the tail where tanh has left nothing of 1 + tanh
    least = 2e-6 if activation is Activation.CLAMPED else 2e-7
    assert np.allclose(found[:3], expected, rtol=1e-6, atol=least)
    assert (found[3] == UNTOUCHED).all()


def test_gated_unit_of_some_columns(bench: KernelBench) -> None:
    source = np.random.default_rng(2)
    gate = source.standard_normal((3, 70)).astype(np.float32)
    wide = source.uniform(-1.0, 1.0, (3, 300)).astype(np.float32)
    bench.put("work", X, gate)
    bench.put("work", RESIDUAL, wide)
    bench.put_state(ROWS=3)
    params = {"gate": X, "up": RESIDUAL + 140, "y": X, "width": 70, "up_stride": 300}
    params["activation"] = int(Activation.SILU)
    bench.run([("gated_unit", params, thread_groups("gated_unit", 70, 3))])
    expected = gate / (1.0 + np.exp(-gate)) * wide[:, 140:210]
    assert np.allclose(bench.floats(X, 3, 70), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("outputs", [[0], [6, 2, 2, 0], list(range(7))])
def test_select_rows(bench: KernelBench, outputs: list[int]) -> None:
    x = np.random.default_rng(3).standard_normal((7, 641)).astype(np.float32)
    bench.put("work", X, x)
    bench.put("work", Y, np.full((8, 641), UNTOUCHED))
    bench.put_state(ROWS=7, OUTPUTS=len(outputs), OUTPUT_ROWS=outputs)
    params = {"x": X, "y": Y, "width": 641}
    bench.run([("select_rows", params, thread_groups("select_rows", 641, 8))])
    found = bench.floats(Y, 8, 641)
    assert np.array_equal(found[: len(outputs)], x[outputs])
    assert (found[len(outputs) :] == UNTOUCHED).all()
