"""The groups of `./llm test`: what each needs set up, and how its tests run."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from check import lint
from check.counts import Counts, read_counts
from setup import default_model, display, system_packages
from setup.launch import Launcher
from setup.main import prepare_engine
from setup.paths import ROOT, VENV_PYTHON
from setup.python_environment import ensure, ensure_test_packages


@dataclass(frozen=True)
class Group:
    """`prepare` does the set-up; `run` takes pytest's extra arguments, gives counts and status."""

    name: str
    prepare: Callable[[], object]
    run: Callable[[Sequence[str]], tuple[Counts, int]]


def _pytest(folder: str) -> Callable[[Sequence[str]], tuple[Counts, int]]:
    def run(arguments: Sequence[str]) -> tuple[Counts, int]:
        command = [str(VENV_PYTHON), "-m", "pytest", folder, *_colour(), *arguments]

        def start(output: int) -> int:
            return subprocess.run(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, check=False
            ).returncode

        return _counted(start)

    return run


def _pytest_in_engine(arguments: Sequence[str]) -> tuple[Counts, int]:
    words = [str(ROOT / "tests" / "gpu"), *_colour(), *arguments]
    runner = str(ROOT / "tests" / "gpu" / "run_pytest.py")
    launcher = Launcher(prepare_engine())
    return _counted(lambda output: launcher.module(runner, words, headless=False, output=output))


def _scenes_in_engine(_arguments: Sequence[str]) -> tuple[Counts, int]:
    launcher = Launcher(prepare_engine())
    return _counted(lambda output: launcher.script("res://tests/godot/run.gd", output))


def _colour() -> list[str]:
    return [f"--color={'yes' if sys.stdout.isatty() else 'no'}"]


def _counted(start: Callable[[int], int]) -> tuple[Counts, int]:
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
    return read_counts(b"".join(pieces).decode(errors="replace")), status


def _prepare_lint() -> None:
    ensure()
    ensure_test_packages()


def _prepare_python() -> None:
    _prepare_lint()
    default_model.ensure()


def _prepare_shaders() -> None:
    _prepare_lint()
    system_packages.ensure(system_packages.SHADER_TOOLS)


def _prepare_engine() -> None:
    prepare_engine()
    _prepare_python()
    if not display.has_display(os.environ):
        system_packages.ensure([system_packages.XVFB])


GROUPS = {
    group.name: group
    for group in (
        Group("lint", _prepare_lint, lambda _arguments: lint.run()),
        Group("python", _prepare_python, _pytest("tests/python")),
        Group("shaders", _prepare_shaders, _pytest("tests/shaders")),
        Group("gpu", _prepare_engine, _pytest_in_engine),
        Group("godot", _prepare_engine, _scenes_in_engine),
    )
}
