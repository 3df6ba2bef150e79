"""Kernels that work on several residual streams, or on columns of wider rows."""

import numpy as np
import pytest
from support.kernel_bench import KernelBench

from llm.gpu import state
from llm.gpu.dispatch.launches import thread_groups
from llm.gpu.kernels.streams import MOST_STREAMS
from llm.gpu.operations import Count

X = 0
Y = 1 << 19  # floats
OTHER = 1 << 20
WEIGHT = 64  # words
ROWS = 3


def put(bench: KernelBench, at: int, *shape: int, seed: int = 1) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    bench.put("work", at, values)
    return values


@pytest.mark.parametrize("has_other", [True, False])
@pytest.mark.parametrize("has_weight", [True, False])
def test_combine(bench: KernelBench, has_other: bool, has_weight: bool) -> None:
    """Of 70 columns of wider rows; the others stay as they are, and so does a row too many."""
    x, other = put(bench, X, ROWS + 1, 150), put(bench, OTHER, ROWS + 1, 90, seed=2)
    before = put(bench, Y, ROWS + 1, 210, seed=3)
    weight = np.random.default_rng(4).uniform(-2.0, 2.0, 70).astype(np.float32)
    bench.put("weights", WEIGHT, weight)
    bench.put_state(ROWS=ROWS)
    params = {
        "x": X + 80,
        "other": OTHER + 20 if has_other else state.NONE,
        "y": Y + 140,
        "x_stride": 150,
        "other_stride": 90,
        "y_stride": 210,
        "weight": WEIGHT if has_weight else state.NONE,
        "width": 70,
        "factor": -0.75,
        "scale": 0.5,
        "count_at": int(Count.ROWS),
    }
    bench.run([("combine", params, thread_groups("combine", 70, ROWS + 1))])
    expected = before.copy()
    mixed = x[:ROWS, 80:] - (0.75 * other[:ROWS, 20:] if has_other else 0.0)
    expected[:ROWS, 140:] = 0.5 * mixed * (weight if has_weight else 1.0)
    assert np.allclose(bench.floats(Y, ROWS + 1, 210), expected, rtol=1e-6, atol=1e-6)


def test_rescale(bench: KernelBench) -> None:
    x, like = put(bench, X, ROWS, 400), put(bench, OTHER, ROWS, 333, seed=2)
    before = put(bench, Y, ROWS + 1, 333, seed=3)
    bench.put_state(ROWS=ROWS)
    params = {"x": X + 67, "like": OTHER, "y": Y, "width": 333}
    params |= {"x_stride": 400, "like_stride": 333, "y_stride": 333}
    bench.run([("rescale", params, (ROWS + 1, 1, 1))])
    found = bench.floats(Y, ROWS + 1, 333)
    assert np.allclose(np.linalg.norm(found[:ROWS], axis=1), np.linalg.norm(like, axis=1))
    directions = found[:ROWS] / x[:, 67:]
    assert np.allclose(directions, directions[:, :1], rtol=1e-5)
    assert np.array_equal(found[ROWS], before[ROWS])


@pytest.mark.parametrize("center", [0.0, 300.0], ids=["near 0", "far from 0"])
def test_sparsify(bench: KernelBench, center: float) -> None:
    x = np.random.default_rng(1).normal(center, 2.0, (ROWS + 1, 1003)).astype(np.float32)
    bench.put("work", X, x)
    bench.put_state(ROWS=ROWS)
    bench.run([("sparsify", {"x": X, "width": 1003, "factor": 1.6448533}, (ROWS + 1, 1, 1))])
    wide = x[:ROWS].astype(np.float64)
    least = wide.mean(axis=1, keepdims=True) + 1.6448533 * wide.std(axis=1, keepdims=True, ddof=1)
    found = bench.floats(X, ROWS + 1, 1003)
    assert np.allclose(found[:ROWS], np.maximum(wide - least, 0.0), atol=2e-4)
    assert 0.03 < (found[:ROWS] > 0.0).mean() < 0.07
    assert np.array_equal(found[ROWS], x[ROWS])


@pytest.mark.parametrize("streams", [2, 4, MOST_STREAMS])
@pytest.mark.parametrize("predicts", [True, False])
def test_mix_streams(bench: KernelBench, streams: int, predicts: bool) -> None:
    """Of all streams, or of one that comes to all."""
    width, mixed = 133, streams if predicts else 1
    x = put(bench, X, ROWS, streams, width)
    z = x if predicts else put(bench, OTHER, ROWS, 1, width, seed=2)
    before = put(bench, Y, ROWS + 1, streams * width, seed=3)
    router_at = OTHER + (1 << 16)
    router = put(bench, router_at, ROWS, streams, seed=4)
    weight = np.random.default_rng(5).standard_normal((streams * mixed, streams))
    bench.put("weights", WEIGHT, weight.astype(np.float32))
    bench.put_state(ROWS=ROWS)
    params = {
        "weight": WEIGHT,
        "router": router_at,
        "x": X,
        "z": X if predicts else OTHER,
        "y": Y,
        "streams": streams,
        "mixed": mixed,
        "width": width,
        "bias": 0.25,
    }
    bench.run([("mix_streams", params, thread_groups("mix_streams", width, ROWS + 1))])
    amounts = (0.25 + np.tanh(router) @ weight.T).reshape(ROWS, streams, mixed)
    found = bench.floats(Y, ROWS + 1, streams * width)
    expected = (x + amounts @ z).reshape(ROWS, -1)
    assert np.allclose(found[:ROWS], expected, rtol=1e-5, atol=1e-5)
    assert np.array_equal(found[ROWS], before[ROWS])
