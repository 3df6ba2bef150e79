"""GPU time that a game's frames leave to inference: each brings some, and steps spend it."""

MOST_DEBT = 60  # frames' worth: a step that took longer than that is not held against the next


class FrameBudget:
    """Without a limit nothing is ever spent. A token that takes longer than a frame brings is made
    all the same, and the frames after it pay."""

    def __init__(self) -> None:
        self._limit: float | None = None
        self._left = 0.0
        self._frame = -1

    @property
    def limit(self) -> float | None:
        """Seconds a frame; None: no limit."""
        return self._limit

    @limit.setter
    def limit(self, seconds: float | None) -> None:
        if seconds != self._limit:
            self._limit = seconds
            self._left = seconds or 0.0

    @property
    def is_spent(self) -> bool:
        return self._limit is not None and self._left <= 0.0

    def begin_frame(self, number: int | None = None) -> None:
        """Of several callers in one frame, which has a number, one counts."""
        if number is not None and number == self._frame:
            return
        self._frame = self._frame if number is None else number
        if self._limit is not None:
            self._left = min(self._limit, self._left + self._limit)

    def spend(self, seconds: float) -> None:
        if self._limit is not None:
            self._left = max(self._left - seconds, -MOST_DEBT * self._limit)
