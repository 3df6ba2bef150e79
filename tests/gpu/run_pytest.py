"""Runs pytest inside the engine: `run.gd -- tests/gpu/run_pytest.py PYTEST ARGUMENTS…`.

The tests run on the main thread before the first frame; a test that needs frames belongs to
`tests/godot`. The fixture `node` is the runner's own node, inside the tree.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


class EnginePlugin:
    """Lends the running engine to the tests."""

    def __init__(self, node: object) -> None:
        self._node = node

    @pytest.fixture
    def node(self) -> object:
        """The node that runs the tests."""
        return self._node


@contextmanager
def output_to(descriptor: int) -> Iterator[None]:
    """Points Python's own stdout and stderr at `descriptor`; the engine's stay where they are."""
    before = sys.stdout, sys.stderr
    with os.fdopen(os.dup(descriptor), "w", buffering=1, encoding="utf-8") as stream:
        sys.stdout = sys.stderr = stream
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


def main(node: object, args: list[str]) -> int:
    """Returns 0 when every test passed, else 1."""
    # The engine owns descriptors 1 and 2, so only sys.stdout and sys.stderr are captured.
    options = ["--capture=sys", "-p", "no:cacheprovider"]
    with output_to(int(os.environ.get("LLM_STDOUT_FD", "1"))):
        status = pytest.main([*options, *args], plugins=[EnginePlugin(node)])
    return 0 if status == pytest.ExitCode.OK else 1
