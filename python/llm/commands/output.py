"""Where a command writes what it has to say, apart from the engine's own chatter.

The launcher hands over two open descriptors, as the engine prints to 1 and 2 whatever it likes.
"""

import functools
import os
from collections.abc import Callable
from typing import Any

from llm.errors import LLMError

Main = Callable[[Any, list[str]], int | None]


class Output:
    def __init__(self) -> None:
        self._stdout = int(os.environ.get("LLM_STDOUT_FD", "1"))
        self._stderr = int(os.environ.get("LLM_STDERR_FD", "2"))

    def write(self, text: str) -> None:
        """To stdout, at once, as it is. Raises BrokenPipeError when nobody reads any more."""
        _write(self._stdout, text)

    def note(self, text: str) -> None:
        """To stderr, at once, as it is: progress, a prompt."""
        _write(self._stderr, text)

    def error(self, text: str) -> None:
        """One line on stderr."""
        _write(self._stderr, f"llm: {' '.join(text.splitlines())}\n")

    @property
    def is_terminal(self) -> bool:
        """Whether a person reads stderr."""
        return os.isatty(self._stderr)


def reports_errors(main: Main) -> Main:
    """Has a command's `main` say an LLMError in one line and end with status 1."""

    @functools.wraps(main)
    def reporting(node: Any, args: list[str]) -> int | None:
        try:
            return main(node, args)
        except LLMError as problem:
            Output().error(str(problem))
            return 1

    return reporting


def _write(descriptor: int, text: str) -> None:
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(descriptor, data) :]
