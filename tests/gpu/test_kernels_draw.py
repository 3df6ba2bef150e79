"""Draws for rows on the GPU are those of llm.gpu.sampler, whatever the picks."""

import numpy as np
import pytest
from support.kernel_bench import KernelBench

from llm.gpu import state
from llm.gpu.adjustments import FORBIDDEN, MASKED
from llm.gpu.sampler import GREEDY, Draw, Sampler

ROWS = 5
SAMPLERS = [
    GREEDY,
    Sampler(0.8, 40, 0.95, 0.05, 2**63 - 5),
    Sampler(1.7, 64, 1.0, 0.0, 7),
    Sampler(0.3, 7, 0.6, 0.0, 1 << 40),
    Sampler(1.0, 64, 1.0, 0.3, 11),
    Sampler(5.0, 1, 1.0, 0.0, 3),
]


def put_picks(bench: KernelBench, logits: np.ndarray) -> np.ndarray:
    """Rows of k, best first; returns the ids."""
    ids = np.arange(logits.size, dtype=np.uint32).reshape(logits.shape) * 3 + 1
    bench.put("state", state.PICK_IDS, ids)
    bench.put("state", state.PICK_VALUES, logits.astype(np.float32))
    return ids


def put_draws(bench: KernelBench, draws: list[Draw]) -> None:
    words = np.zeros((len(draws), state.MAX_DRAW_WORDS), np.uint32)
    for row, draw in enumerate(draws):
        words[row, :7] = draw.words()
    bench.put("state", state.DRAWS, words)


def drawn(bench: KernelBench, k: int, run: int = 0, advances: int = 0) -> list[int]:
    at = run * state.MAX_DRAW_ROWS
    bench.run([("draw", {"k": k, "drawn": at, "advances": advances}, (ROWS, 1, 1))])
    return bench.words("state", state.DRAWN + at, ROWS).tolist()


def expected(logits: np.ndarray, ids: np.ndarray, draws: list[Draw]) -> list[int]:
    found = []
    for row, draw in enumerate(draws):
        allowed = logits[row][logits[row] > FORBIDDEN].astype(np.float32)
        index = draw.sampler.choose(allowed, draw.position) if allowed.size else None
        found.append(state.NONE if index is None else int(ids[row, index]))
    return found


@pytest.mark.parametrize("k", [1, 2, 7, 40, 63, 64])
@pytest.mark.parametrize("spread", [0.0, 0.01, 1.0, 30.0, 1e30])
def test_each_row_by_its_own_sampler(bench: KernelBench, k: int, spread: float) -> None:
    source = np.random.default_rng(k)
    for turn in range(6):
        logits = -np.sort(-spread * source.standard_normal((ROWS, k)).astype(np.float32))
        ids = put_picks(bench, logits)
        draws = [
            Draw(SAMPLERS[(row + turn) % len(SAMPLERS)], 1000 * turn + row) for row in range(ROWS)
        ]
        put_draws(bench, draws)
        assert drawn(bench, k) == expected(logits, ids, draws)


@pytest.mark.parametrize("allowed", [0, 1, 3, 39])
def test_what_may_not_come_does_not(bench: KernelBench, allowed: int) -> None:
    source = np.random.default_rng(allowed)
    logits = -np.sort(-source.standard_normal((ROWS, 40)).astype(np.float32))
    logits[:, allowed:] = MASKED - 5.0
    ids = put_picks(bench, logits)
    for turn in range(20):
        draws = [Draw(SAMPLERS[row], 77 * turn + row) for row in range(ROWS)]
        put_draws(bench, draws)
        found = drawn(bench, 40)
        assert found == expected(logits, ids, draws)
        assert (found == [state.NONE] * ROWS) == (allowed == 0)


def test_fewer_picks_than_asked_for(bench: KernelBench) -> None:
    """A vocabulary of three: the rest of the picks is nothing."""
    logits = np.full((ROWS, 8), -3e38, np.float32)
    logits[:, :3] = [2.0, 1.9, 1.8]
    ids = put_picks(bench, logits)
    ids[:, 3:] = state.NONE
    bench.put("state", state.PICK_IDS, ids)
    draws = [Draw(Sampler(3.0, 64, seed=row), 5) for row in range(ROWS)]
    put_draws(bench, draws)
    assert drawn(bench, 8) == expected(logits, ids, draws)


def test_an_advance_is_the_next_run(bench: KernelBench) -> None:
    logits = -np.sort(-np.random.default_rng(1).standard_normal((ROWS, 40)).astype(np.float32))
    ids = put_picks(bench, logits)
    draws = [Draw(SAMPLERS[2], 10 * row) for row in range(ROWS)]
    put_draws(bench, draws)
    positions = [9 + 10 * row for row in range(ROWS)]
    bench.put_state(TOKENS=[1] * ROWS, POSITIONS=positions, ARRIVALS=99)
    for run in range(state.MAX_DRAW_RUNS):
        then = [Draw(draw.sampler, draw.position + run) for draw in draws]
        found = drawn(bench, 40, run, advances=1)
        assert found == expected(logits, ids, then)
        assert bench.words("state", state.TOKENS, ROWS).tolist() == found
        places = bench.words("state", state.POSITIONS, ROWS).tolist()
        assert places == [position + run + 1 for position in positions]
    assert bench.words("state", state.ARRIVALS, 1).tolist() == [0]
