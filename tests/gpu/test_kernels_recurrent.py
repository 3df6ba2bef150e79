"""Kernels of recurrent state against their formulas in float64; slots lie in any order."""

import numpy as np
import pytest
from support.kernel_bench import KernelBench

from llm.gpu.dispatch.launches import ceil_div, thread_groups
from llm.gpu.kernels.recurrent import (
    CONVOLVE_ROWS,
    convolve,
    delta_chunks,
    delta_pairs,
    delta_rule,
)
from llm.gpu.kernels.variants import add
from llm.gpu.operations import DELTA_CHUNK, PAIR_FLOATS, HeadMapping

X, GATE, Y = 0, 1 << 19, 1 << 20  # floats
WEIGHT, SECOND = 64, 1 << 16  # words
UNTOUCHED = np.float32(-7.5)
TABLE_QUADS = 3
SLAB = 12  # words, in a slot
# Of each run: how many rows of which sequence, from which position on. The first, and any at
# position 0, must find zeros, whatever is in the slot.
RUNS = [
    pytest.param([(0, 9, 0)], id="a prompt"),
    pytest.param([(0, 30, 40)], id="a chunk"),
    pytest.param([(0, 1, 5)], id="a token"),
    pytest.param([(0, 2, 1)], id="fewer rows than taps"),
    pytest.param([(2, 1, 7), (0, 1, 0), (1, 1, 3)], id="a token of each"),
    pytest.param([(1, 5, 0), (2, 2, 4), (0, 7, 1)], id="stretches"),
    pytest.param([(2, 7, 3), (1, 2, 0), (0, 9, 5)], id="one begins in another's last row"),
]

Run = list[tuple[int, int, int]]


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1.0 + np.exp(-x))


class Slots:
    """Random states of three sequences on the bench, and what they should become."""

    def __init__(self, bench: KernelBench, run: Run, shape: tuple[int, ...]) -> None:
        self._bench = bench
        self._size = int(np.prod(shape))
        self._shape = shape
        self._words = SLAB + self._size + 5
        self._words += -self._words % 4
        source = np.random.default_rng(8)
        self._starts = {each: 12 + slot * self._words for each, slot in enumerate((2, 0, 1))}
        quads = np.zeros((3, 4), np.uint32)
        self.states: dict[int, np.ndarray] = {}
        for sequence, start in self._starts.items():
            quads[sequence, 0] = start // 4
            held = source.normal(0.0, 1.0, self._words).astype(np.float32)
            bench.put("cache", start, held)
            self.states[sequence] = held[SLAB : SLAB + self._size].reshape(shape).astype(np.float64)
        bench.put("cache", 0, quads)
        sequences = [sequence for sequence, count, _ in run for _ in range(count)]
        positions = [first + row for _, count, first in run for row in range(count)]
        self.rows = len(sequences)
        tables = [sequence * TABLE_QUADS for sequence in sequences]
        bench.put_state(ROWS=self.rows, TABLES=tables, POSITIONS=positions)
        self.before = {sequence: self._words_of(sequence) for sequence in self._starts}
        for sequence, _, first in run:
            if first == 0:
                self.states[sequence] = np.zeros(shape)

    def check(self, run: Run) -> None:
        """The states are as they should be, and nothing beside them has changed."""
        for sequence in self._starts:
            found = self._words_of(sequence)
            if sequence in [each for each, _, _ in run]:
                own = found[SLAB : SLAB + self._size].view(np.float32).reshape(self._shape)
                assert np.allclose(own, self.states[sequence], rtol=1e-5, atol=1e-5)
                found[SLAB : SLAB + self._size] = self.before[sequence][SLAB : SLAB + self._size]
            assert np.array_equal(found, self.before[sequence])

    def _words_of(self, sequence: int) -> np.ndarray:
        return self._bench.words("cache", self._starts[sequence], self._words)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(("channels", "taps"), [(70, 3), (129, 4), (5, 2)])
@pytest.mark.parametrize("is_gated", [False, True])
def test_convolve(bench: KernelBench, run: Run, channels: int, taps: int, is_gated: bool) -> None:
    slots = Slots(bench, run, (taps - 1, channels))
    source = np.random.default_rng(channels)
    weight = source.normal(0.0, 1.0, (channels, taps)).astype(np.float32)
    width = 3 * channels if is_gated else channels
    x = source.normal(0.0, 1.0, (slots.rows, width)).astype(np.float32)
    bench.put("work", X, x)
    bench.put("work", Y, np.full((slots.rows + 1) * channels, UNTOUCHED))
    bench.put("weights", WEIGHT, weight)
    params = {
        "weight": WEIGHT,
        "x": X,
        "y": Y,
        "width": channels,
        "is_gated": int(is_gated),
        "slab": SLAB,
        "table_quads": TABLE_QUADS,
    }
    kernel = add(convolve(taps))
    groups = thread_groups(kernel, channels, ceil_div(slots.rows, CONVOLVE_ROWS) + 1)
    bench.run([(kernel, params, groups)])

    wide = x.astype(np.float64)
    u = wide[:, :channels] * wide[:, 2 * channels :] if is_gated else wide
    expected, start = [], 0
    for sequence, count, _ in run:
        history = np.concatenate((slots.states[sequence], u[start : start + count]))
        for row in range(count):
            expected.append((history[row : row + taps] * weight.T).sum(axis=0))
        slots.states[sequence] = history[count:]
        start += count
    sums = np.stack(expected)
    wanted = wide[:, channels : 2 * channels] * sums if is_gated else silu(sums)
    found = bench.floats(Y, slots.rows + 1, channels)
    assert np.allclose(found[:-1], wanted, rtol=1e-5, atol=1e-5)
    assert (found[-1] == UNTOUCHED).all()
    slots.check(run)


ALPHA, BETA = GATE, GATE + 4096
PAIRS = GATE + 8192


class DeltaCase:
    """Random rows of some heads on the bench, and what the rule makes of them in float64."""

    def __init__(
        self,
        bench: KernelBench,
        run: Run,
        mapping: HeadMapping,
        size: int,
        heads: int,
        key_heads: int,
    ) -> None:
        self._bench = bench
        self._run = run
        self.slots = Slots(bench, run, (heads, size, size))
        self.rows = rows = self.slots.rows
        self._shape = (heads, size)
        source = np.random.default_rng(size)
        qkv = source.normal(0.0, 1.0, (rows, (2 * key_heads + heads), size)).astype(np.float32)
        qkv[:, : 2 * key_heads] /= np.linalg.norm(qkv[:, : 2 * key_heads], axis=2, keepdims=True)
        alpha = source.normal(0.0, 2.0, (rows, heads)).astype(np.float32)
        beta = source.normal(0.0, 2.0, (rows, heads)).astype(np.float32)
        alpha[0, 0], beta[0, 0] = 95.0, -95.0
        alpha[rows // 2, -1] = 3000.0  # nothing is left, and later rows are as near as ever
        decay = -source.uniform(0.01, 1.0, heads).astype(np.float32)
        bias = source.normal(0.0, 1.0, heads).astype(np.float32)
        bench.put("work", X, qkv)
        bench.put("work", ALPHA, alpha)
        bench.put("work", BETA, beta)
        bench.put("work", Y, np.full((rows + 1) * heads * size, UNTOUCHED))
        bench.put("weights", WEIGHT, decay)
        bench.put("weights", SECOND, bias)
        self.heads = {"key_heads": key_heads, "heads": heads, "mapping": int(mapping)}
        self.gates = {"alpha": ALPHA, "beta": BETA, "decay": WEIGHT, "bias": SECOND}
        self.slot = {"slab": SLAB, "table_quads": TABLE_QUADS}
        key_head = [
            head % key_heads if mapping is HeadMapping.TILED else head * key_heads // heads
            for head in range(heads)
        ]
        wide, row = qkv.astype(np.float64), 0
        self._expected = np.empty((rows, heads, size))
        for sequence, count, _ in run:
            for _ in range(count):
                for head in range(heads):
                    q, k = wide[row, key_head[head]], wide[row, key_heads + key_head[head]]
                    v = wide[row, 2 * key_heads + head]
                    softplus = np.logaddexp(0.0, float(alpha[row, head]) + bias[head])
                    state = self.slots.states[sequence][head] * np.exp(decay[head] * softplus)
                    strength = 1.0 / (1.0 + np.exp(-float(beta[row, head])))
                    state += np.outer(k, strength * (v - state.T @ k))
                    self.slots.states[sequence][head] = state
                    self._expected[row, head] = state.T @ q / np.sqrt(size)
                row += 1

    def check(self) -> None:
        found = self._bench.floats(Y, self.rows + 1, *self._shape)
        assert np.allclose(found[:-1], self._expected, rtol=1e-4, atol=1e-5)
        assert (found[-1] == UNTOUCHED).all()
        self.slots.check(self._run)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("mapping", HeadMapping)
@pytest.mark.parametrize(
    ("size", "columns", "heads", "key_heads"),
    [(20, 8, 6, 3), (20, 32, 4, 4), (128, 32, 4, 2), (128, 8, 2, 1)],
)
def test_delta_rule(
    bench: KernelBench,
    run: Run,
    mapping: HeadMapping,
    size: int,
    columns: int,
    heads: int,
    key_heads: int,
) -> None:
    case = DeltaCase(bench, run, mapping, size, heads, key_heads)
    params = {"qkv": X, "y": Y, **case.gates, **case.heads, **case.slot}
    groups = (heads * ceil_div(size, columns), 1 if len(run) == 1 else case.rows + 1, 1)
    bench.run([(add(delta_rule(size, columns)), params, groups)])
    case.check()


@pytest.mark.parametrize(
    "run", [[(0, 9, 0)], [(0, 16, 3)], [(2, 50, 0)], [(1, 33, 40)]], ids=lambda run: f"{run[0]}"
)
@pytest.mark.parametrize("mapping", HeadMapping)
@pytest.mark.parametrize(
    ("size", "columns", "each", "parts", "is_staged", "threads", "heads", "key_heads"),
    [
        (20, 8, 1, 1, True, 16, 6, 3),
        (20, 32, 2, 5, False, 256, 4, 4),
        (128, 16, 1, 4, True, 64, 4, 2),
        (128, 32, 2, 1, False, 16, 2, 1),
    ],
)
def test_delta_rule_in_chunks(
    bench: KernelBench,
    run: Run,
    mapping: HeadMapping,
    size: int,
    columns: int,
    each: int,
    parts: int,
    is_staged: bool,
    threads: int,
    heads: int,
    key_heads: int,
) -> None:
    """Of one sequence, by threads that have some columns or parts of one."""
    case = DeltaCase(bench, run, mapping, size, heads, key_heads)
    chunks = ceil_div(case.rows, DELTA_CHUNK)
    kernel = delta_chunks(size, columns, each, parts, is_staged=is_staged)
    bench.put("work", PAIRS, np.full(case.rows * heads * PAIR_FLOATS, np.nan, np.float32))
    pairs = {"qkv": X, "pairs": PAIRS, **case.gates, **case.heads}
    rule = {"qkv": X, "pairs": PAIRS, "y": Y, **case.heads, **case.slot}
    bench.run(
        [
            (add(delta_pairs(size, threads)), pairs, (heads, chunks + 1, 1)),
            (
                add(kernel),
                rule,
                (heads * ceil_div(size, columns), 1, 1),
            ),
        ]
    )
    case.check()


@pytest.mark.parametrize(("heads", "size"), [(3, 20), (1, 128), (4, 7)])
def test_l2_norm(bench: KernelBench, heads: int, size: int) -> None:
    """Of the first heads of a row; one is shorter than eps."""
    stride = heads * size + 5
    x = np.random.default_rng(size).normal(0.0, 1.0, (4, stride)).astype(np.float32)
    x[1, :size] = 1e-7
    x[2, :size] = 0.0
    bench.put("work", X, x)
    bench.put_state(ROWS=3)
    params = {"x": X, "stride": stride, "head_size": size, "eps": 1e-5}
    bench.run([("l2_norm", params, (heads, 4, 1))])
    found = bench.floats(X, 4, stride)
    parts = x[:3, : heads * size].astype(np.float64).reshape(3, heads, size)
    length = np.maximum(np.sqrt((parts**2).sum(axis=2, keepdims=True)), 1e-5)
    assert np.allclose(found[:3, : heads * size], (parts / length).reshape(3, -1), rtol=1e-5)
    assert np.array_equal(found[:3, heads * size :], x[:3, heads * size :])
    assert np.array_equal(found[3], x[3])


@pytest.mark.parametrize("is_in_place", [True, False])
@pytest.mark.parametrize(("heads", "size"), [(3, 20), (5, 128)])
def test_gated_norm(bench: KernelBench, heads: int, size: int, is_in_place: bool) -> None:
    source = np.random.default_rng(size)
    x = source.normal(0.0, 3.0, (4, heads, size)).astype(np.float32)
    gate = source.normal(0.0, 3.0, (4, heads, size)).astype(np.float32)
    weight = source.uniform(0.5, 1.5, size).astype(np.float32)
    y = X if is_in_place else Y
    bench.put("work", Y, np.full(4 * heads * size, UNTOUCHED))
    bench.put("work", X, x)
    bench.put("work", GATE, gate)
    bench.put("weights", WEIGHT, weight)
    bench.put_state(ROWS=3)
    params = {"weight": WEIGHT, "x": X, "gate": GATE, "y": y}
    params |= {"heads": heads, "head_size": size, "eps": 1e-6}
    bench.run([("gated_norm", params, (heads, 4, 1))])
    found = bench.floats(y, 4, heads, size)
    wide = x.astype(np.float64)
    normed = wide / np.sqrt((wide**2).mean(axis=2, keepdims=True) + 1e-6) * weight
    expected = normed * silu(gate.astype(np.float64))
    assert np.allclose(found[:3], expected[:3], rtol=1e-5, atol=1e-6)
    assert np.array_equal(found[3], x[3]) if is_in_place else (found[3] == UNTOUCHED).all()


@pytest.mark.parametrize(("first", "size"), [(0, 24), (24, 24), (7, 3)])
def test_slice_heads(bench: KernelBench, first: int, size: int) -> None:
    x = np.random.default_rng(size).normal(0.0, 1.0, (4, 5, 48)).astype(np.float32)
    bench.put("work", X, x)
    bench.put("work", Y, np.full(4 * 5 * size, UNTOUCHED))
    bench.put_state(ROWS=3)
    params = {"x": X, "y": Y, "heads": 5, "head_size": 48, "size": size, "first": first}
    bench.run([("slice_heads", params, thread_groups("slice_heads", 5 * size, 4))])
    found = bench.floats(Y, 4, 5, size)
    assert np.array_equal(found[:3], x[:3, :, first : first + size])
    assert (found[3] == UNTOUCHED).all()
