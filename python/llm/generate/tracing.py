"""How a choice came about: what is left of the vocabulary, and how likely, sampler by sampler."""

from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from llm.generate.filters import Numbers, entropy, softmax
from llm.generate.xray import SHOWN, Candidate, Choice, Stage, shown_text
from llm.gpu.adjustments import FORBIDDEN
from llm.gpu.program import Candidates, Ids

if TYPE_CHECKING:
    from llm.generate.sampling import Chooser

BITS = float(np.log2(np.e))  # of a nat


class Trace:
    """Taken before the draw, which it does not touch."""

    def __init__(self, chooser: "Chooser", best: Candidates, position: int) -> None:
        """`best` are all logits of the token for `position`, as the model has them."""
        self.best = best
        self._tokenizer = chooser.tokenizer
        self._stages: list[Stage] = []
        self._likely: list[Numbers] = []  # of each stage, (V,)
        logits = np.empty_like(best.logits)  # (V,)
        logits[best.ids] = best.logits
        self._allowed = best.ids  # after adjustments, best first
        self._adjusted = 0  # the stage after them
        self._note("model", best.ids, softmax(best.logits.astype(np.float64)))
        for name, adjustments in chooser.adjusting():
            logits = adjustments.apply(logits)
            allowed = np.flatnonzero(logits > FORBIDDEN)
            self._allowed = allowed[np.lexsort((allowed, -logits[allowed]))]
            self._note(name, allowed, softmax(logits[allowed].astype(np.float64)))
            self._adjusted += 1
        for cut in chooser.cuts(logits[self._allowed], position):
            left = self._allowed[cut.left]
            self._note(cut.name, left, softmax(logits[left].astype(np.float64) / cut.temperature))

    def choice(self, token: int) -> Choice:
        """The token that was drawn, and those that are likeliest before and after adjustments, by
        what they have after them."""
        ids = [token]
        for pair in zip_longest(self._allowed[:SHOWN].tolist(), self.best.ids[:SHOWN].tolist()):
            ids += [id for id in pair if id is not None]
        _, *others = list(dict.fromkeys(ids))[:SHOWN]
        first, adjusted = self._likely[0], self._likely[self._adjusted]
        shown = [token, *sorted(others, key=lambda id: (-adjusted[id], -first[id]))]
        return Choice(token, tuple(self._stages), tuple(map(self._candidate, shown)))

    def _candidate(self, token: int) -> Candidate:
        likely = tuple(float(of_all[token]) for of_all in self._likely)
        return Candidate(token, shown_text(self._tokenizer, token), likely)

    def _note(self, name: str, left: Ids, likely: Numbers) -> None:
        """The tokens that are left, and how likely each is."""
        self._stages.append(Stage(name, left.size, entropy(likely) * BITS))
        whole = np.zeros(self._likely[0].size if self._likely else left.size)  # (V,)
        whole[left] = likely
        self._likely.append(whole)
