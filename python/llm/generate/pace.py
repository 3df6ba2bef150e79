"""How long a model takes: for tokens of one sequence, for one of each of several, for prompts."""

from collections import deque
from statistics import median

from llm.gpu.program import ROW_BUCKETS

RECENT = 5  # times, whose median counts: some are slow, as where kernels are new or a cache grows
LEAST_OF = 40  # times, of which the least is what the device itself takes
ENOUGH = 3
ABOUT = 1.5  # times as long is about as long
TRIES = 100  # of so many turns one is a run together all the same


class Pace:
    """A GPU that makes many tokens of one sequence in a dispatch may be quicker at turns."""

    def __init__(self) -> None:
        self._tokens: deque[float] = deque(maxlen=RECENT)  # seconds, of a sequence alone
        self._runs: dict[int, deque[float]] = {}  # seconds of a token for each of so many
        self._turns = 0
        self._least: dict[str, deque[float]] = {}  # seconds, by kind of work
        self._spent = 0.0
        self.limit: float | None = None  # seconds that a step should take at most

    def note_token(self, seconds: float, count: int = 1) -> None:
        """So many tokens of a sequence alone took so long each."""
        self._tokens.append(seconds)
        self._spend("token", seconds, count)

    def note_run(self, count: int, seconds: float, runs: int = 1) -> None:
        """So many runs of so many sequences took so long each."""
        self._runs.setdefault(count, deque(maxlen=RECENT)).append(seconds)
        self._spend(f"run of {count}", seconds, runs)

    def note_chunk(self, rows: int, seconds: float) -> None:
        self._spend(f"chunk of {rows}", seconds, 1)

    def take_spent(self) -> float:
        """Seconds that the device worked since the last call, as far as is known.

        Each kind of work counts with the least time that it took lately: what it takes longer, it
        waits for a device that draws a frame meanwhile.
        """
        spent, self._spent = self._spent, 0.0
        return spent

    def tokens(self, most: int) -> int:
        """How many tokens of a sequence to make at once, up to `most`, within the limit."""
        if self.limit is None or not self._tokens:
            return most if self.limit is None else 1
        return max(1, min(most, int(self.limit / min(self._least["token"]))))

    def runs(self, count: int, most: int) -> int:
        """How many runs for so many sequences to make at once, up to `most`, within the limit."""
        if self.limit is None or count not in self._runs:
            return most if self.limit is None else 1
        return max(1, min(most, int(self.limit / min(self._least[f"run of {count}"]))))

    def rows(self, most: int) -> int:
        """How many rows of a prompt to run at once, up to `most`, within the limit.

        Where one row takes longer than that, as many as take little longer than one. More are tried
        where twice the time of those known would fit, or where these take about as long as one.
        """
        if self.limit is None:
            return most
        fitting, of_one = 0, 0.0
        for rows in (size for size in (*ROW_BUCKETS, most) if size <= most):
            times = self._least.get(f"chunk of {rows}")
            if times is None:
                before = min(self._least[f"chunk of {fitting}"]) if fitting else 0.0
                is_tried = 2.0 * before <= self.limit or before <= of_one
                return rows if is_tried else fitting
            of_one = of_one or ABOUT * min(times)
            if min(times) > max(self.limit, of_one):
                return fitting
            fitting = rows
        return fitting

    def prefers_turns(self, count: int) -> bool:
        """Whether so many sequences should take turns; what is not known, or long ago, is tried."""
        if not self._tokens:
            return True
        runs = self._runs.get(count, ())
        if len(runs) < ENOUGH or count * median(self._tokens) >= median(runs):
            return False
        self._turns += 1
        return self._turns % TRIES != 0

    def _spend(self, kind: str, seconds: float, times: int) -> None:
        recent = self._least.setdefault(kind, deque(maxlen=LEAST_OF))
        recent.append(seconds)
        self._spent += min(recent) * times
