"""What the state buffer says of a run: see llm.gpu.state."""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from llm.gpu import state
from llm.gpu.adjustments import Adjustments
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
    """Words of the state up to the tokens to adjust; `tables` of each row's sequence, or of all."""
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


def fill_adjusted(words: Words, adjustments: Adjustments) -> int:
    """Words of the state from ADJUSTED on; returns how many tokens change.

    Raises ValueError where they are too many: the caller's limits are wrong.
    """
    ids, repeats, losses = adjustments.terms()
    count = ids.size
    if count > state.MAX_ADJUSTED:
        raise ValueError(f"{count} tokens to adjust; at most {state.MAX_ADJUSTED} fit")
    words[0] = count
    for at, values in (
        (state.ADJUSTED_IDS, ids.astype(np.uint32)),
        (state.REPEATS, repeats.view(np.uint32)),
        (state.LOSSES, losses.view(np.uint32)),
    ):
        start = at - state.ADJUSTED
        words[start : start + count] = values
    return count
