"""Penalties, argmax and top-k on the GPU."""

import numpy as np
import pytest
from support.kernel_bench import KernelBench

from llm.gpu import state
from llm.gpu.dispatch.launches import (
    argmax_scratch,
    argmax_stages,
    thread_groups,
    top_k_scratch,
    top_k_stages,
)
from llm.gpu.penalties import Penalties

VALUES = 64  # floats
SCRATCH = 1 << 19
COUNTS = [1, 2, 1000, 1024, 1025, 4097, 262144]
LOWEST = np.float32(-3.4028235e38)


def values_of(kind: str, count: int) -> np.ndarray:
    source = np.random.default_rng(count)
    values = source.standard_normal(count).astype(np.float32)
    if kind == "ties":
        values = np.round(values * 2.0) / np.float32(2.0)
    elif kind == "all equal":
        values[:] = -0.25
    elif kind == "ascending":
        values.sort()
    return values


def best_first(values: np.ndarray) -> np.ndarray:
    return np.lexsort((np.arange(values.size), -values))


def search(bench: KernelBench, values: np.ndarray, k: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Ids and values of the k best, by top_k; of the best, by argmax, where k is None."""
    count = values.size
    bench.put("work", VALUES, values)
    bench.put_state(NON_FINITE=0, PICK_IDS=np.zeros(256), PICK_VALUES=np.zeros(256))
    if k is None:
        stages, scratch = argmax_stages(VALUES, count, SCRATCH), argmax_scratch(count)
    else:
        stages, scratch = top_k_stages(VALUES, count, k, SCRATCH), top_k_scratch(count, k)
    bench.put("work", SCRATCH + scratch, np.full(64, 1e9, np.float32))
    bench.run((stage.kernel, stage.params, stage.groups) for stage in stages)
    assert (bench.floats(SCRATCH + scratch, 64) == 1e9).all()
    ids = bench.words("state", state.PICK_IDS, k or 1)
    return ids, bench.words("state", state.PICK_VALUES, k or 1).view(np.float32)


@pytest.mark.parametrize(("rows", "k"), [(1, 7), (3, 1), (5, 40), (16, 128)])
@pytest.mark.parametrize("count", [1000, 4097, 70_000])
def test_rows(bench: KernelBench, count: int, rows: int, k: int) -> None:
    """Each row of logits has its picks, one row after the other."""
    values = np.stack([values_of("ties", count + row)[:count] for row in range(rows)])
    bench.put("work", VALUES, values)
    bench.put_state(PICK_IDS=np.zeros(state.ALL_PICKS), PICK_VALUES=np.zeros(state.ALL_PICKS))
    start = VALUES + values.size
    if k == 1:
        stages, scratch = argmax_stages(VALUES, count, start, rows), argmax_scratch(count)
    else:
        stages, scratch = top_k_stages(VALUES, count, k, start, rows), top_k_scratch(count, k)
    bench.put("work", start + rows * scratch, np.full(64, 1e9, np.float32))
    bench.run((stage.kernel, stage.params, stage.groups) for stage in stages)
    assert (bench.floats(start + rows * scratch, 64) == 1e9).all()
    ids = bench.words("state", state.PICK_IDS, rows * k).reshape(rows, k)
    found = bench.words("state", state.PICK_VALUES, rows * k).view(np.float32).reshape(rows, k)
    for row in range(rows):
        order = best_first(values[row])[:k]
        assert ids[row].tolist() == order.tolist()
        assert (found[row] == values[row][order]).all()


def non_finite(bench: KernelBench) -> int:
    return int(bench.words("state", state.NON_FINITE, 1)[0])


@pytest.mark.parametrize("kind", ["random", "ties", "all equal", "ascending"])
@pytest.mark.parametrize("count", COUNTS)
def test_argmax(bench: KernelBench, count: int, kind: str) -> None:
    values = values_of(kind, count)
    ids, found = search(bench, values, None)
    assert ids[0] == best_first(values)[0]
    assert found[0] == values[ids[0]]
    assert non_finite(bench) == 0


@pytest.mark.parametrize("k", [1, 2, 40, 64, 255, 256])
@pytest.mark.parametrize("kind", ["random", "ties", "all equal", "ascending"])
@pytest.mark.parametrize("count", COUNTS)
def test_top_k(bench: KernelBench, count: int, kind: str, k: int) -> None:
    values = values_of(kind, count)
    ids, found = search(bench, values, k)
    n = min(k, count)
    assert np.array_equal(ids[:n], best_first(values)[:n])
    assert np.array_equal(found[:n], values[ids[:n]])
    assert (ids[n:] == state.NONE).all()
    assert (found[n:] == LOWEST).all()
    assert non_finite(bench) == 0


@pytest.mark.parametrize("k", [None, 1, 64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("count", "where"), [(1000, 999), (262144, 0), (262144, 262143)])
def test_not_finite(bench: KernelBench, count: int, where: int, bad: float, k: int | None) -> None:
    values = values_of("random", count)
    values[where] = bad
    ids, _ = search(bench, values, k)
    assert non_finite(bench) == 1
    assert where not in ids
    values[where] = -3e38
    assert np.array_equal(ids, best_first(values)[: k or 1])


def test_all_nan(bench: KernelBench) -> None:
    search(bench, np.full(5000, np.nan, np.float32), 8)
    assert non_finite(bench) == 1


@pytest.mark.parametrize("n_penalties", [0, 1, 37, 1000])
def test_penalize(bench: KernelBench, n_penalties: int) -> None:
    source = np.random.default_rng(n_penalties)
    logits = (5.0 * source.standard_normal(1009)).astype(np.float32)
    logits[0] = 0.0
    ids = [0, 1008, *range(1, 1008)][:n_penalties]
    counts = source.integers(1, 9, n_penalties)
    penalties = Penalties(dict(zip(ids, counts.tolist(), strict=True)), 1.3, 0.5, 0.25)
    expected = penalties.apply(logits.copy())
    bench.put("work", VALUES, logits)
    bench.put_state(PENALTIES=n_penalties)
    if n_penalties:
        bench.put_state(PENALTY_IDS=ids, PENALTY_COUNTS=counts)
    params = {"x": VALUES, "vocabulary": 1009, "repeat": 1.3, "presence": 0.5, "frequency": 0.25}
    bench.run([("penalize", params, thread_groups("penalize", state.MAX_PENALTIES))])
    assert np.allclose(bench.floats(VALUES, 1009), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("k", [0, 257])
def test_top_k_beyond_the_picks_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match="kernels pick 1 to 256"):
        top_k_stages(0, 1000, k, SCRATCH)
