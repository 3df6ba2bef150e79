"""How clearly routers choose, so that texts can be taken in which roundings decide nothing.

llama.cpp rounds what it looks gelu up by to float16, and reads a window again in a larger batch: of
two experts that are nearly as likely it may take either, even at the same place of the same text.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from support.logits import logits_of
from support.random_model import VOCABULARY

from llm.generate.model import Model
from llm.gpu.operations import Route
from llm.gpu.reference import executor
from llm.gpu.reference.experts import rank
from llm.gpu.reference.workspace import Workspace

CLEAR = 2e-3  # of the score of the last expert that is used; seen to fall either way: 1.1e-3


def clear_text(
    monkeypatch: pytest.MonkeyPatch, model: Model, pieces: Sequence[int]
) -> tuple[list[int], np.ndarray]:
    """A random text as long as the pieces, and what the reference says to it, (positions, V)."""
    margins = _watch_routers(monkeypatch)
    for seed in range(3, 40):
        tokens = np.random.default_rng(seed).integers(260, VOCABULARY, sum(pieces)).tolist()
        margins.clear()
        logits = logits_of(model, tokens, pieces)
        if min(margins, default=1.0) > CLEAR:
            return tokens, logits
    pytest.fail("routers choose clearly in no text")


def _watch_routers(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Gets, for each route that the reference runs, how far the next expert lies at the nearest."""
    margins: list[float] = []
    route: Callable[[Workspace, Route], None] = executor.RUN[Route]

    def watch(run: Workspace, op: Route) -> None:
        ranked = -np.sort(-rank(run, op)[1], axis=1)  # (T, E)
        last, following = ranked[:, op.choice.used - 1], ranked[:, op.choice.used]
        margins.append(float((1 - following / last).min()))
        route(run, op)

    monkeypatch.setitem(executor.RUN, Route, watch)
    return margins
