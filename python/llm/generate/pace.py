"""How long a model takes for tokens of one sequence, and for one of each of several."""

from collections import deque
from statistics import median

RECENT = 5  # times, whose median counts: some are slow, as where kernels are new or a cache grows
ENOUGH = 3
TRIES = 100  # of so many turns one is a run together all the same


class Pace:
    """A GPU that makes many tokens of one sequence in a dispatch may be quicker at turns."""

    def __init__(self) -> None:
        self._tokens: deque[float] = deque(maxlen=RECENT)  # seconds, of a sequence alone
        self._runs: dict[int, deque[float]] = {}  # seconds of a token for each of so many
        self._turns = 0

    def note_token(self, seconds: float) -> None:
        self._tokens.append(seconds)

    def note_run(self, count: int, seconds: float) -> None:
        self._runs.setdefault(count, deque(maxlen=RECENT)).append(seconds)

    def prefers_turns(self, count: int) -> bool:
        """Whether so many sequences should take turns; what is not known, or long ago, is tried."""
        if not self._tokens:
            return True
        runs = self._runs.get(count, ())
        if len(runs) < ENOUGH or count * median(self._tokens) >= median(runs):
            return False
        self._turns += 1
        return self._turns % TRIES != 0
