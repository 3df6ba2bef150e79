"""What is happening, on stderr, and the one kind of error that ends a command."""

import sys
import time

from llm.errors import printable


class SetupError(Exception):
    """A step cannot go on. Its text is one line that says what the user can do."""


def say(text: str) -> None:
    """Prints one line of news."""
    print(f"llm: {printable(text)}", file=sys.stderr, flush=True)


class Progress:
    """One line that is rewritten on a terminal; elsewhere a new line, at most every few seconds."""

    QUIET_SECONDS = 5.0

    def __init__(self, title: str) -> None:
        self._title = title
        self._terminal = sys.stderr.isatty()
        self._last = time.monotonic()
        self._started = self._last
        self._open = False
        say(title)

    def show(self, text: str) -> None:
        """Tells where the work is, for example "43 %" or a file's name."""
        now = time.monotonic()
        if self._terminal:
            if now - self._last > 0.05:
                self._last = now
                self._open = True
                print(f"\r\x1b[K  {text[:100]}", end="", file=sys.stderr, flush=True)
        elif now - self._last > self.QUIET_SECONDS:
            self._last = now
            print(f"  {text}", file=sys.stderr, flush=True)

    def finish(self) -> None:
        """Closes the line with the time that the work took."""
        self._clear()
        print(f"  done in {time.monotonic() - self._started:.1f} s", file=sys.stderr, flush=True)

    def fail(self) -> None:
        """Leaves the terminal on a fresh line; who catches the error prints it."""
        self._clear()

    def _clear(self) -> None:
        if self._open:
            self._open = False
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
