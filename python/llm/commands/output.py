"""Where a command writes what it has to say, apart from the engine's own chatter.

The launcher hands over two open descriptors, as the engine prints to 1 and 2 whatever it likes.
"""

import functools
import os
import signal
from collections.abc import Callable
from typing import Any

from llm.errors import LLMError, printable

DIMMED, PLAIN = "\x1b[2m", "\x1b[0m"  # as terminals know them

Main = Callable[[Any, list[str]], int | None]


class Output:
    """Main thread only."""

    def __init__(self, on_closed: Callable[[], None] | None = None) -> None:
        """`on_closed` is called instead of BrokenPipeError being raised, when nobody reads."""
        self._stdout = int(os.environ.get("LLM_STDOUT_FD", "1"))
        self._stderr = int(os.environ.get("LLM_STDERR_FD", "2"))
        self._on_closed = on_closed
        self._is_thinking = False  # what is on the screen ends with a thought
        # The engine leaves it at its default, which ends the process in mid-work.
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)

    def write(self, text: str) -> None:
        """To stdout, at once, as it is."""
        self._end_thought()
        try:
            _write(self._stdout, text)
        except BrokenPipeError:
            if self._on_closed is None:
                raise
            self._on_closed()

    def note(self, text: str) -> None:
        """To stderr, at once, as it is: progress, a prompt."""
        self._end_thought()
        _write(self._stderr, text)

    def error(self, text: str) -> None:
        """One line on stderr."""
        self._end_thought()
        _write(self._stderr, f"llm: {printable(text)}\n")

    def thought(self, text: str) -> None:
        """A piece of what the model thinks: dimmed on stderr, where a person reads that."""
        if self.is_terminal:
            _write(self._stderr, text if self._is_thinking else DIMMED + text)
            self._is_thinking = True

    def _end_thought(self) -> None:
        if self._is_thinking:
            self._is_thinking = False
            _write(self._stderr, f"{PLAIN}\n\n")

    @property
    def is_terminal(self) -> bool:
        """Whether a person reads stderr."""
        return os.isatty(self._stderr)


def reports_errors(main: Main) -> Main:
    """Has a command's `main` say an LLMError in one line and end with status 1.

    So it ends, saying nothing, when nobody reads what it writes.
    """

    @functools.wraps(main)
    def reporting(node: Any, args: list[str]) -> int | None:
        try:
            return main(node, args)
        except LLMError as problem:
            Output().error(str(problem))
        except BrokenPipeError:
            pass
        return 1

    return reporting


def _write(descriptor: int, text: str) -> None:
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(descriptor, data) :]
