"""Adjustments, argmax and top-k on the GPU."""

import numpy as np
import pytest
from support.kernel_bench import KernelBench

from llm.gpu import state
from llm.gpu.adjustments import MASKED, Adjustments
from llm.gpu.dispatch.launches import (
    argmax_scratch,
    argmax_stages,
    thread_groups,
    top_k_scratch,
    top_k_stages,
)
from llm.gpu.dispatch.state_words import fill_adjusted

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


@pytest.mark.parametrize("n_seen", [0, 1, 37, 1000])
def test_adjust(bench: KernelBench, n_seen: int) -> None:
    source = np.random.default_rng(n_seen)
    logits = (5.0 * source.standard_normal(1009)).astype(np.float32)
    logits[0] = 0.0
    ids = [0, 1008, *range(1, 1008)][:n_seen]
    counts = dict(zip(ids, source.integers(1, 9, n_seen).tolist(), strict=True))
    adjustments = Adjustments(counts, 1.3, 0.5, 0.25, {5: 2.5, 1001: -MASKED, 7: 1.0})
    expected = adjustments.apply(logits)
    bench.put("work", VALUES, logits)
    words = np.zeros(state.PICK_IDS - state.ADJUSTED, np.uint32)
    assert fill_adjusted(words, adjustments) == len({*ids, 5, 1001, 7})
    bench.put("state", state.ADJUSTED, words)
    params = {"x": VALUES, "vocabulary": 1009}
    bench.run([("adjust", params, thread_groups("adjust", state.MAX_ADJUSTED))])
    assert np.allclose(bench.floats(VALUES, 1009), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("vocabulary", [1, 31, 1009, 1024])
def test_mask(bench: KernelBench, vocabulary: int) -> None:
    source = np.random.default_rng(vocabulary)
    rows, width = 3, -(-vocabulary // 32)
    logits = source.standard_normal((rows, vocabulary)).astype(np.float32)
    masks = source.integers(0, 1 << 32, (rows, width)).astype(np.uint32)
    bench.put("work", VALUES, logits)
    bench.put("work", SCRATCH, masks)
    params = {"x": VALUES, "vocabulary": vocabulary, "masks": SCRATCH}
    bench.run([("mask", params, thread_groups("mask", vocabulary, rows))])
    expected = [Adjustments(mask=masks[row]).apply(logits[row]) for row in range(rows)]
    assert np.array_equal(bench.floats(VALUES, rows, vocabulary), expected)


@pytest.mark.parametrize("k", [0, 257])
def test_top_k_beyond_the_picks_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match="kernels pick 1 to 256"):
        top_k_stages(0, 1000, k, SCRATCH)
