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

LIMIT_S = 900.0  # of one runner; one that hangs has failed
NO_TESTS = 5  # pytest's exit status

Result = tuple[Counts, int]


def pytest_in(folder: str) -> Callable[[Sequence[str]], Result]:
    """A runner of one folder's tests, outside the engine."""
    return lambda arguments: _pytest(folder, arguments)


def pytest_in_engine(arguments: Sequence[str]) -> Result:
    """tests/gpu, by the pytest of the Python that the engine embeds."""
    words = [str(ROOT / "tests" / "gpu"), *_colour(), *arguments]
    runner = str(ROOT / "tests" / "gpu" / "run_pytest.py")
    launcher = Launcher(prepare_engine(), LIMIT_S)
    return _counted(lambda output: launcher.module(runner, words, headless=False, output=output))


def nodes_and_commands(arguments: Sequence[str]) -> Result:
    """tests/godot inside the engine, then tests/commands, which start engines themselves.

    The GDScript runner takes parts of test names; pytest's -k gives it one.
    """
    names = [word for option, word in itertools.pairwise(arguments) if option == "-k"]
    launcher = Launcher(prepare_engine(), LIMIT_S)
    address = "res://tests/godot/run.gd"
    nodes, status = _counted(lambda output: launcher.script(address, names, output))
    commands, commands_status = _pytest("tests/commands", arguments)
    if names:  # which may be those of one of the two only
        status = status if nodes.passed + nodes.failed else 0
        commands_status = 0 if commands_status == NO_TESTS else commands_status
    return nodes + commands, status or commands_status


def _pytest(folder: str, arguments: Sequence[str]) -> Result:
    command = [str(VENV_PYTHON), "-m", "pytest", folder, *_colour(), *arguments]

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
