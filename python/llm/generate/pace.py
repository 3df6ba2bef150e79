"""How long a model takes for tokens of one sequence, and for one of each of several."""

SLOWER = 0.2  # weight of a time that is longer than before; a shorter one counts at once
TRIES = 100  # of so many turns one is a run together all the same


class Pace:
    """A GPU that makes many tokens of one sequence in a dispatch may be quicker at turns."""

    def __init__(self) -> None:
        self._token = 0.0  # seconds, of a sequence alone; 0: not known
        self._runs: dict[int, float] = {}  # seconds of a token for each of so many
        self._turns = 0

    def note_token(self, seconds: float) -> None:
        self._token = _averaged(self._token, seconds)

    def note_run(self, count: int, seconds: float) -> None:
        self._runs[count] = _averaged(self._runs.get(count, 0.0), seconds)

    def prefers_turns(self, count: int) -> bool:
        """Whether so many sequences should take turns; what is not known, or long ago, is tried."""
        if self._token == 0.0:
            return True
        if count not in self._runs or count * self._token >= self._runs[count]:
            return False
        self._turns += 1
        return self._turns % TRIES != 0


def _averaged(before: float, seconds: float) -> float:
    return seconds if before == 0.0 else min(seconds, before + SLOWER * (seconds - before))
