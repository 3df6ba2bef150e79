"""The key/value cache and attention, against numpy in float64 on the cache's own float16 values."""

from dataclasses import dataclass

import numpy as np
import pytest
from support.kernel_bench import KernelBench, Launch

from llm.gpu import launches, launches_attend, state

Q = 0
Y = 1 << 19  # floats
PARTIALS = 1 << 20
UNTOUCHED = np.float32(-7.5)


@dataclass(frozen=True)
class Case:
    """Heads of `head_size`; rows at `positions`; `window` cells, or 0 for all."""

    heads: int
    kv_heads: int
    head_size: int
    window: int
    positions: tuple[int, ...]


CASES = [
    pytest.param(Case(4, 1, 256, 0, (0,)), id="the first token"),
    pytest.param(Case(4, 1, 256, 512, (700,)), id="one token, a window"),
    pytest.param(Case(4, 1, 256, 0, (1000,)), id="one token, a long context"),
    pytest.param(Case(4, 1, 256, 0, tuple(range(37))), id="a prompt"),
    pytest.param(Case(4, 1, 256, 16, tuple(range(50))), id="a prompt longer than the window"),
    pytest.param(Case(4, 1, 256, 100, tuple(range(90, 121))), id="the window begins to slide"),
    pytest.param(Case(8, 2, 64, 7, (300, 2, 127, 128, 129)), id="rows in no order"),
    pytest.param(Case(6, 2, 48, 5, tuple(range(20, 29))), id="three heads a group"),
    pytest.param(Case(2, 2, 512, 100, (511, 40)), id="the largest head, none shared"),
    pytest.param(Case(2, 1, 8, 0, (257,)), id="the smallest head"),
    pytest.param(Case(32, 1, 16, 1, (5, 6)), id="a window of one cell"),
]


def fill_cache(bench: KernelBench, case: Case, source: np.random.Generator) -> np.ndarray:
    """Writes every cell up to the last position; returns keys and values, (2, cells, G, D)."""
    cells = max(case.positions) + 1
    shape = (2, cells, case.kv_heads, case.head_size)
    halves = source.standard_normal(shape).astype(np.float16)
    bench.put("cache", 64, halves[0].reshape(-1).view(np.uint32))
    bench.put("cache", 64 + halves[0].size // 2, halves[1].reshape(-1).view(np.uint32))
    return halves


def expected_of(case: Case, q: np.ndarray, halves: np.ndarray) -> np.ndarray:
    keys, values = halves.astype(np.float64)
    y = np.empty(q.shape)
    for row, position in enumerate(case.positions):
        seen = slice(max(0, position - case.window + 1) if case.window else 0, position + 1)
        for head in range(case.heads):
            kv_head = head // (case.heads // case.kv_heads)
            scores = keys[seen, kv_head] @ q[row, head].astype(np.float64)
            shares = np.exp(scores - scores.max())
            y[row, head] = shares @ values[seen, kv_head] / shares.sum()
    return y


def launches_of(case: Case, rows: int, source: dict[str, int], kind: str) -> list[Launch]:
    target = {"y": Y, "y_stride": case.heads * case.head_size + 4}
    if kind == "split":
        parts = launches_attend.attend_parts(case.heads, rows, is_cpu=False)
        merge = {"partials": PARTIALS, "head_size": case.head_size, "n_parts": parts, **target}
        return [
            ("attend_split", {**source, "partials": PARTIALS}, (parts, case.heads, rows)),
            ("attend_merge", merge, (case.heads, rows, 1)),
        ]
    plan = launches_attend.plan_attend(case.heads, case.kv_heads, rows, is_cpu=kind == "software")
    return [(plan.kernel, {**source, **target}, plan.groups)]


@pytest.mark.parametrize("kind", ["software", "hardware", "split"])
@pytest.mark.parametrize("spare_rows", [0, 3])
@pytest.mark.parametrize("case", CASES)
def test_attend(bench: KernelBench, case: Case, spare_rows: int, kind: str) -> None:
    random = np.random.default_rng(case.head_size)
    halves = fill_cache(bench, case, random)
    rows, width = len(case.positions), case.heads * case.head_size
    q = random.standard_normal((rows, case.heads, case.head_size)).astype(np.float32)
    q *= np.float32(3.0 / np.sqrt(case.head_size))
    strided = np.zeros((rows, width + 8), np.float32)
    strided[:, :width] = q.reshape(rows, width)
    bench.put("work", Q, strided)
    bench.put("work", Y, np.full((rows + 1, width + 4), UNTOUCHED))
    bench.put_state(ROWS=rows, POSITIONS=case.positions)
    source = {
        "q": Q,
        "q_stride": width + 8,
        "k_cache": 64,
        "v_cache": 64 + halves[0].size // 2,
        "heads": case.heads,
        "kv_heads": case.kv_heads,
        "head_size": case.head_size,
        "window": case.window,
    }
    bench.run(launches_of(case, rows + spare_rows, source, kind))
    found = bench.floats(Y, rows + 1, width + 4)
    expected = expected_of(case, q, halves).reshape(rows, width)
    # scores of size 10 or so keep 1e-6 of float32, and exp turns that into a share's relative error
    assert np.abs(found[:rows, :width] - expected).max() < 1e-5
    assert (found[:rows, width:] == UNTOUCHED).all()
    assert (found[rows] == UNTOUCHED).all()


@pytest.mark.parametrize("kind", ["software", "hardware", "split"])
def test_attend_prefers_large_scores(bench: KernelBench, kind: str) -> None:
    """Scores of +-600, beyond what exp can take: the softmax must be shifted by its greatest."""
    case = Case(2, 1, 8, 0, (299,))
    cells = np.zeros((2, 300, 1, 8), np.float16)
    cells[0, :, 0, 0] = np.linspace(-300.0, 300.0, 300)
    cells[1, :, 0, 0] = np.arange(300)
    bench.put("cache", 64, cells.reshape(-1).view(np.uint32))
    q = np.zeros((1, 16), np.float32)
    q[0, 0], q[0, 8] = 2.0, -2.0
    bench.put("work", Q, q)
    bench.put_state(ROWS=1, POSITIONS=[299])
    sizes = {"heads": 2, "kv_heads": 1, "head_size": 8, "window": 0}
    source = {"q": Q, "q_stride": 16, "k_cache": 64, "v_cache": 64 + 1200, **sizes}
    bench.run(launches_of(case, 1, source, kind))
    found = bench.floats(Y, 16)
    assert np.allclose(found[[0, 8]], [298.98, 0.02], atol=0.01)  # steps of 2 * 600 / 299


@pytest.mark.parametrize("width", [2, 64, 258, 1024])
def test_cache_store(bench: KernelBench, width: int) -> None:
    positions = [4, 0, 9, 7]
    random = np.random.default_rng(width)
    stride = width + 6
    rows = (10.0 ** random.uniform(-8, 4, (2, 4, stride))).astype(np.float32)
    rows[:, 0, :2] = 65504.0, 2.0**-24  # the largest and the smallest float16
    bench.put("work", 0, rows)
    bench.put("cache", 0, np.full(20 * width // 2, 0x7BFF7BFF, np.uint32))
    bench.put_state(ROWS=4, POSITIONS=[*positions, 5])  # of a fifth row, which does not count
    params = {
        "k": 0,
        "v": 4 * stride,
        "stride": stride,
        "width": width,
        "k_cache": 0,
        "v_cache": 10 * width // 2,
    }
    groups = launches.thread_groups("cache_store", width // 2, 5)
    bench.run([("cache_store", params, groups)])
    found = bench.words("cache", 0, 20 * width // 2).view(np.float16).reshape(2, 10, width)
    expected = np.full((2, 10, width), 65504.0, np.float16)
    expected[:, positions] = rows[:, :, :width].astype(np.float16)
    # drivers may round a float16 either way
    assert np.allclose(found, expected, rtol=2.0**-10, atol=2.0**-24)


def test_parts_fit_the_scratch() -> None:
    for heads, rows in [(4, 1), (4, 8), (32, 1), (64, 4), (300, 1)]:
        parts = launches_attend.attend_parts(heads, rows, is_cpu=False)
        assert 1 <= parts <= launches_attend.MAX_PARTS
        assert launches_attend.attend_scratch(heads, 256, rows, parts) == heads * rows * parts * 260
    assert launches_attend.attend_parts(4, 1, is_cpu=True) == 1
    assert launches_attend.attend_parts(4, state.MAX_ROWS, is_cpu=False) == 1
