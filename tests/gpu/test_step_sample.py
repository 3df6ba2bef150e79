"""Drawing on the GPU: every group has the token that llm.gpu.sampler draws, whatever the logits."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.kernel_bench import KernelBench

from llm.gpu import state
from llm.gpu.kernels import variants
from llm.gpu.kernels.kernel import Kernel
from llm.gpu.program import largest
from llm.gpu.sampler import (
    GREEDY,
    LISTED,
    MOST_ON_DEVICE,
    Sampler,
    count_min_p,
    count_top_p,
    running_sums,
    sample_scratch,
    sharpness,
    weights,
)

OFFSETS = ("logits", "maxima", "list", "tokens", "sums")
PARAMS = dict.fromkeys((*OFFSETS, "vocabulary", "phases", "position", "n_draws"), "I")
SCRATCH = 64  # floats of work
SUMS = 1 << 16
LOGITS = 1 << 18
TOKENS = 1 << 17
MAXIMA, LIST, DRAW = 1, 2, 4
ALL = MAXIMA | LIST | DRAW
MOST_GROUPS = 64


@pytest.fixture(scope="module")
def subgroup_size(bench: KernelBench) -> int:
    bench.run([("probe_subgroups", {}, (1, 1, 1))])
    return int(bench.words("state", state.PICK_IDS, 1)[0])


@pytest.fixture(scope="module", autouse=True)
def kernel(subgroup_size: int) -> Iterator[None]:
    source = str(Path(__file__).with_name("step_sample.comp"))
    defines = {"SUBGROUP_SIZE": subgroup_size}
    with pytest.MonkeyPatch.context() as patch:
        made = Kernel(source, 16 * subgroup_size, PARAMS, defines)
        patch.setitem(variants.KERNELS, "step_sample", made)
        yield


class Drawing:
    """Draws on the GPU from logits (V,), or (rows, V) for one after the other in one dispatch."""

    def __init__(self, bench: KernelBench, logits: np.ndarray, sampler: Sampler) -> None:
        self._bench = bench
        self._logits = np.asarray(logits, np.float32)
        self._sampler = sampler
        bench.put("work", LOGITS, self._logits)
        self.is_stop: list[bool] = []

    def tokens(
        self, groups: int, position: int = 0, n_draws: int = 1, stops: tuple[int, ...] = ()
    ) -> list[int]:
        """What every group has drawn, or is told it has; phases are dispatches of their own."""
        bench, vocabulary = self._bench, self._logits.shape[-1]
        bench.put_state(SAMPLE_COUNT=0, SHARPNESS=self._sampler.words())
        bench.put_state(N_STOPS=len(stops), STOP_IDS=(*stops, 0)[: state.MAX_STOPS])
        end = SCRATCH + sample_scratch(MOST_GROUPS)
        at = {"logits": LOGITS, "maxima": SCRATCH, "list": end - 2 * LISTED, "sums": SUMS}
        bench.put("work", 0, np.full(end + SCRATCH, 7e7, np.float32))
        bench.put("work", TOKENS, np.zeros(2 * groups * n_draws, np.float32))
        phases = [ALL] if self._logits.ndim == 2 else [MAXIMA, LIST, DRAW]
        launches = []
        for phase in phases:
            count = n_draws if phase & DRAW else 1
            params = {**at, "phases": phase, "position": position, "n_draws": count}
            params |= {"tokens": TOKENS, "vocabulary": vocabulary}
            launches.append(("step_sample", params, (groups, 1, 1)))
        bench.run(launches)
        for start in (0, end):
            assert (bench.floats(start, SCRATCH) == 7e7).all(), "outside of the scratch memory"
        found = bench.words("work", TOKENS, 2 * groups * n_draws).reshape(groups, n_draws, 2)
        assert (found == found[0]).all(), "groups differ"
        self.is_stop = found[0, :, 1].astype(bool).tolist()
        return found[0, :, 0].tolist()

    def expected(self, position: int = 0, n_draws: int = 1) -> list[int]:
        rows = np.broadcast_to(self._logits, (n_draws, self._logits.shape[-1]))
        drawn = []
        for row, place in zip(rows, range(position, position + n_draws), strict=True):
            best = largest(row, self._sampler.candidates)
            drawn.append(int(best.ids[self._sampler.choose(best.logits, place)]))
        return drawn


def logits_of(kind: str, count: int) -> np.ndarray:
    source = np.random.default_rng(count)
    logits = (3.0 * source.standard_normal(count)).astype(np.float32)
    if kind == "ties":
        logits = np.round(logits)
    elif kind == "all equal":
        logits[:] = -0.25
    elif kind == "zeros of both signs":
        logits = np.where(logits > 0, np.float32(0.0), np.float32(-0.0))
    elif kind == "ascending":
        logits.sort()
    elif kind == "descending":
        logits = -np.sort(-logits)
    elif kind == "steep":
        logits = source.permutation(count).astype(np.float32) * np.float32(1.5)
    elif kind == "huge":
        logits = np.sign(logits) * np.float32(1e30) + logits * np.float32(1e29)
        logits[:: max(1, count // 9)] = np.float32(3.4e38)
    elif kind == "cluster":
        logits[count // 3 : count // 3 + 150] += np.float32(20.0)
    return logits


KINDS = [
    "random", "ties", "all equal", "zeros of both signs", "ascending", "descending", "steep",
    "huge", "cluster",
]  # fmt: skip
FLAT = {"temperature": 1.0, "top_p": 1.0, "min_p": 0.0}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("groups", [1, 2, 15, 61])
@pytest.mark.parametrize("count", [1, 63, 1009, 50257])
def test_draws_are_the_host_s(bench: KernelBench, count: int, groups: int, kind: str) -> None:
    logits = logits_of(kind, count)
    for k in (1, 2, 40, 64):
        drawing = Drawing(bench, logits, Sampler(**FLAT, top_k=k, seed=k))
        assert drawing.tokens(groups, 100, 40) == drawing.expected(100, 40)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("groups", [2, 61])
def test_a_large_vocabulary(bench: KernelBench, groups: int, kind: str) -> None:
    drawing = Drawing(bench, logits_of(kind, 262145), Sampler(0.8, 64, 1.0, 0.0, 5))
    assert drawing.tokens(groups, 7, 40) == drawing.expected(7, 40)


@pytest.mark.parametrize("top_p", [0.0, 0.3, 0.95, 1.0])
@pytest.mark.parametrize("temperature", [1e-45, 0.1, 0.8, 1.0, 30.0, 1e300])
def test_settings(bench: KernelBench, temperature: float, top_p: float) -> None:
    for min_p in (0.0, 1e-3, 0.05, 0.7, 1.0):
        sampler = Sampler(temperature, 40, top_p, min_p, 2**64 - 3)
        drawing = Drawing(bench, logits_of("steep", 1009), sampler)
        assert drawing.tokens(3, 2**31, 100) == drawing.expected(2**31, 100)


@pytest.mark.parametrize("temperature", [0.1, 0.8, 1.0, 30.0])
@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_the_host_s_bit_by_bit(bench: KernelBench, kind: str, temperature: float) -> None:
    logits = logits_of(kind, 1009)
    for k in (1, 39, 64):
        Drawing(bench, logits, Sampler(temperature, k)).tokens(2)
        best = largest(logits, k).logits
        for row, sharp in enumerate((sharpness(1.0), sharpness(temperature))):
            expected = running_sums(weights(best[None], sharp))[0]
            assert np.array_equal(bench.floats(SUMS + row * MOST_ON_DEVICE, k), expected)


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32, 2**63 - 1])
def test_seeds(bench: KernelBench, seed: int) -> None:
    drawing = Drawing(bench, logits_of("all equal", 300), Sampler(1.0, 64, seed=seed))
    found = drawing.tokens(2, 0, 300)
    assert found == drawing.expected(0, 300)
    assert len(set(found)) > 50


def test_greedy(bench: KernelBench) -> None:
    for kind in KINDS:
        drawing = Drawing(bench, logits_of(kind, 1009), GREEDY)
        assert drawing.tokens(3, 0, 3) == drawing.expected(0, 3)


def test_token_after_token_in_one_dispatch(bench: KernelBench) -> None:
    rows = np.stack([logits_of("random", 997) * (1 + i % 3) for i in range(60)])
    rows[1::2] = np.round(rows[1::2])
    drawing = Drawing(bench, rows, Sampler(0.9, 50, 0.98, 0.01, 8))
    assert drawing.tokens(1, 30, 60) == drawing.expected(30, 60)


@pytest.mark.parametrize("n_stops", [0, 1, 9, state.MAX_STOPS])
def test_stops_are_seen(bench: KernelBench, n_stops: int) -> None:
    drawing = Drawing(bench, logits_of("all equal", 300), Sampler(1.0, 64))
    stops = tuple(range(0, 64, 2))[-n_stops:] if n_stops else ()
    stops += tuple(range(1000, 1000 + n_stops - len(stops)))
    found = drawing.tokens(2, 0, 100, stops)
    assert drawing.is_stop == [token in stops for token in found]
    assert any(drawing.is_stop) == bool(n_stops)


def test_more_than_the_list_holds_is_told(bench: KernelBench, subgroup_size: int) -> None:
    parts = 16 * subgroup_size  # of one group: every parts-th id
    for crowded, is_told in ((100, False), (LISTED + 100, True)):
        logits = np.linspace(-2.0, -1.0, parts * 700).astype(np.float32)
        logits[: parts * crowded : parts] = np.linspace(5.0, 6.0, crowded)
        drawing = Drawing(bench, logits, Sampler(1.0, 40))
        wanted = [state.NONE] if is_told else drawing.expected()
        assert drawing.tokens(1) == wanted


def test_draws_follow_the_probabilities(bench: KernelBench) -> None:
    n_draws, sampler = 6000, Sampler(0.9, 40, 0.9, 0.02, 12345)
    logits = logits_of("random", 1009)
    best = largest(logits, 40)
    plain = weights(best.logits[None], sharpness(1.0))
    top_p, min_p = np.float32([[0.9]]), np.float32([[0.02]])
    kept = int(min(count_top_p(plain, top_p)[0], count_min_p(plain, min_p)[0]))
    chances = np.exp(best.logits[:kept].astype(np.float64) / 0.9)
    expected = n_draws * chances / chances.sum()
    found = Drawing(bench, logits, sampler).tokens(2, 0, n_draws)
    counts = np.array([found.count(int(token)) for token in best.ids[:kept]])
    assert counts.sum() == n_draws
    # chi-square: mean and variance are the degrees of freedom, and twice that
    freedom = kept - 1
    assert freedom > 5
    assert ((counts - expected) ** 2 / expected).sum() < freedom + 5 * np.sqrt(2 * freedom)
