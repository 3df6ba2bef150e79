"""What the picking kernels leave in the state: see llm.gpu.state."""

import numpy as np
from numpy.typing import NDArray

from llm.gpu import state
from llm.gpu.program import Candidates, not_finite

PICKS = (state.PICK_IDS, state.PICK_VALUES)


def picks_of(words: NDArray[np.uint32], count: int, first: int = 0) -> Candidates:
    """So many picks of the state's words, from pick `first` on. Raises NumericError."""
    if words[state.NON_FINITE]:
        raise not_finite("some")
    ids, values = (words[at + first : at + first + count] for at in PICKS)
    return Candidates(ids.astype(np.int64), values.view(np.float32).copy())
