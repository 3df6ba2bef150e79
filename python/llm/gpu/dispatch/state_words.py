"""What the state buffer says of a run: see llm.gpu.state."""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from llm.gpu import state
from llm.gpu.penalties import Penalties
from llm.gpu.program import Batch
from llm.gpu.sampler import Sampler

Words = NDArray[np.uint32]


def fill_state(
    words: Words,
    batch: Batch,
    tables: int | Sequence[int],
    sampler: Sampler,
    stops: Collection[int],
) -> None:
    """Words of the state up to the penalties; `tables` of each row's sequence, or of all."""
    rows = len(batch.tokens)
    words[: state.TOKENS] = 0  # flags and arrivals, too
    words[state.SHARPNESS : state.SHARPNESS + 6] = sampler.words()
    words[state.N_STOPS] = count = min(len(stops), state.MAX_STOPS)
    words[state.STOP_IDS : state.STOP_IDS + count] = list(stops)[:count]
    words[state.ROWS] = rows
    words[state.OUTPUTS] = len(batch.outputs)
    words[state.TOKENS : state.TOKENS + rows] = batch.tokens
    words[state.POSITIONS : state.POSITIONS + rows] = batch.positions
    words[state.TABLES : state.TABLES + rows] = tables
    words[state.OUTPUT_ROWS : state.OUTPUT_ROWS + len(batch.outputs)] = batch.outputs


def fill_penalties(words: Words, penalties: Penalties) -> None:
    """Words of the state from the penalties on, as many as there are."""
    count = len(penalties.counts)
    ids, counts = (at - state.PENALTIES for at in (state.PENALTY_IDS, state.PENALTY_COUNTS))
    words[0] = count
    words[ids : ids + count] = list(penalties.counts)
    words[counts : counts + count] = list(penalties.counts.values())
