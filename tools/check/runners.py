"""Starting pytest and the engine, passing on what they print, and counting it."""

import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence

from check.counts import Counts, read_counts
from setup.engine_process import INTERRUPTED, TIMED_OUT
from setup.launch import Launcher
from setup.main import prepare_engine
from setup.paths import ROOT, VENV_PYTHON

LIMIT_S = 2400.0  # of one runner; one that hangs has failed
NO_TESTS = (1, 5)  # exit statuses of tests/godot and of pytest where no test ran

Result = tuple[Counts, int]


Runner = Callable[[Sequence[str]], Result]


def pytest_in(*patterns: str) -> Runner:
    """A runner of the tests of folders and files, outside the engine."""
    return lambda arguments: _pytest(patterns, arguments)


def pytest_in_engine(*patterns: str) -> Runner:
    """As pytest_in(), by the pytest of the Python that the engine embeds."""

    def run(arguments: Sequence[str]) -> Result:
        words = [*found(patterns), *_colour(), *arguments]
        runner = str(ROOT / "tests" / "gpu" / "run_pytest.py")
        launcher = Launcher(prepare_engine(), LIMIT_S)
        return _counted(
            lambda output: launcher.module(runner, words, headless=False, output=output)
        )

    return run


def nodes_in_engine(*parts: str) -> Runner:
    """A runner of tests/godot, or of those of its tests whose names have one of the parts.

    Of pytest's arguments it knows -k, with a part of a name.
    """

    def run(arguments: Sequence[str]) -> Result:
        names = [word for pair in itertools.pairwise(arguments) if pair[0] == "-k" for word in pair]
        launcher = Launcher(prepare_engine(), LIMIT_S)
        address = "res://tests/godot/run.gd"
        return _counted(lambda output: launcher.script(address, [*parts, *names], output))

    return run


def in_turn(*runners: Runner) -> Runner:
    """One after the other. Arguments may leave some of them, not all, without a test."""

    def run(arguments: Sequence[str]) -> Result:
        total, worst = Counts(), 0
        for runner in runners:
            counts, status = runner(arguments)
            total += counts
            is_left_out = bool(arguments) and status in NO_TESTS and counts == Counts()
            worst = worst or (0 if is_left_out else status)
        return total, worst

    return run


def found(patterns: Sequence[str]) -> list[str]:
    """The paths that patterns name, below the project; one that names nothing stays, and fails."""
    return [str(path) for name in patterns for path in sorted(ROOT.glob(name)) or [ROOT / name]]


def _pytest(patterns: Sequence[str], arguments: Sequence[str]) -> Result:
    command = [str(VENV_PYTHON), "-m", "pytest", *found(patterns), *_colour(), *arguments]

    def start(output: int) -> int:
        try:
            return subprocess.run(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                timeout=LIMIT_S,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            return TIMED_OUT

    return _counted(start)


def _colour() -> list[str]:
    return [f"--color={'yes' if sys.stdout.isatty() else 'no'}"]


def _counted(start: Callable[[int], int]) -> Result:
    """Passes on what is printed while the program runs, then reads its closing line."""
    reader, writer = os.pipe()
    pieces: list[bytes] = []

    def forward() -> None:
        while piece := os.read(reader, 65536):
            pieces.append(piece)
            sys.stdout.buffer.write(piece)
            sys.stdout.flush()

    sys.stdout.flush()
    thread = threading.Thread(target=forward)
    thread.start()
    try:
        status = start(writer)
    finally:
        os.close(writer)
        thread.join()
        os.close(reader)
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    return read_counts(b"".join(pieces).decode(errors="replace")), status
