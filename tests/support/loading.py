"""Runs loading generators to their end."""

from collections.abc import Generator
from typing import TypeVar

Result = TypeVar("Result")


def finish(steps: Generator[float, None, Result]) -> Result:
    """The generator's result; asserts that its progress never goes back and stays in 0 to 1."""
    last = 0.0
    while True:
        try:
            fraction = next(steps)
        except StopIteration as finished:
            return finished.value
        assert last <= fraction <= 1.0
        last = fraction
