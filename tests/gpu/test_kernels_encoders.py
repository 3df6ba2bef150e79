"""Kernels of encoders that work on rows of activations."""

import numpy as np
import pytest
from support.kernel_bench import KernelBench

from llm.gpu.dispatch.launches import thread_groups
from llm.gpu.operations import Activation

X = 0
Y = 1 << 19  # floats
WEIGHT, TABLE = 64, 8192  # words
UNTOUCHED = np.float32(-7.5)
EPS = 1e-5


@pytest.mark.parametrize("width", [5, 127, 640, 2048])
@pytest.mark.parametrize("rows", [1, 3, 200])
@pytest.mark.parametrize("y", [X, Y], ids=["in place", "apart"])
def test_layer_norm(bench: KernelBench, width: int, rows: int, y: int) -> None:
    """The mean is large beside what is left of it: squares of x alone would not do."""
    source = np.random.default_rng(width)
    x = (50.0 + source.standard_normal((rows, width))).astype(np.float32)
    weight = source.uniform(-2.0, 2.0, width).astype(np.float32)
    bench.put("work", Y, np.full((rows + 1) * width, UNTOUCHED))
    bench.put("work", X, np.concatenate((x.ravel(), np.full(width, UNTOUCHED))))
    bench.put("weights", WEIGHT, weight)
    bench.put_state(ROWS=rows, OUTPUTS=0)
    params = {"weight": WEIGHT, "width": width, "x": X, "y": y, "eps": EPS}
    bench.run([("layer_norm", params, (rows + 1, 1, 1))])
    found = bench.floats(y, rows + 1, width)
    wide = x.astype(np.float64)
    apart = wide - wide.mean(axis=1, keepdims=True)
    expected = apart * weight / np.sqrt((apart**2).mean(axis=1, keepdims=True) + EPS)
    assert np.allclose(found[:rows], expected, rtol=1e-5, atol=2e-5)
    assert (found[rows] == UNTOUCHED).all()


def test_add_positions(bench: KernelBench) -> None:
    source = np.random.default_rng(4)
    x = source.standard_normal((7, 99)).astype(np.float32)
    table = source.standard_normal((40, 99)).astype(np.float32)
    positions = [3, 0, 39, 17, 18, 1]
    bench.put("work", X, np.concatenate((x.ravel(), [UNTOUCHED])))
    bench.put("weights", TABLE, table)
    bench.put_state(ROWS=6, POSITIONS=positions)
    params = {"table": TABLE, "x": X, "width": 99}
    bench.run([("add_positions", params, thread_groups("add_positions", 99, 7))])
    found = bench.floats(X, 7, 99)
    assert (found[:6] == x[:6] + table[positions]).all()
    assert (found[6] == x[6]).all()
    assert bench.floats(X + x.size, 1) == UNTOUCHED


@pytest.mark.parametrize("activation", Activation)
def test_activate(bench: KernelBench, activation: Activation) -> None:
    source = np.random.default_rng(5)
    edges = [0.0, 1e-20, 200.0, -200.0, 1e6, -1e6]
    x = np.concatenate((4.0 * source.standard_normal(1001), edges)).astype(np.float32)
    rows = np.stack((x, -x, x))
    bench.put("work", X, rows)
    bench.put_state(ROWS=2)
    params = {"x": X, "width": x.size, "activation": int(activation)}
    bench.run([("activate", params, thread_groups("activate", x.size, 3))])
    found = bench.floats(X, 3, x.size)
    wide = rows[:2].astype(np.float64)
    cubic = np.sqrt(2.0 / np.pi) * (wide + 0.044715 * wide**3)
    slope = wide if activation is Activation.SILU else 2.0 * cubic
    expected = wide / (1.0 + np.exp(-np.clip(slope, -700.0, 700.0)))
    assert np.allclose(found[:2], expected, rtol=2e-5, atol=1e-6)
    assert (found[2] == rows[2]).all()
