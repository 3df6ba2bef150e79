"""Formatters, linters and type checkers; each counts as one test."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass

from check.counts import Counts
from check.files import tracked
from setup.paths import ROOT, VENV

_C_LIKE = (".c", ".h", ".comp", ".glsl", ".glslh")
_OWN_TOOLS = ("setup", "check", "shipping", "gpu_bench")


@dataclass(frozen=True)
class Check:
    """One program of the virtual environment over some files."""

    name: str
    command: tuple[str, ...]
    files: tuple[str, ...] = ()


def checks() -> list[Check]:
    """All of them, in the order of their speed."""
    scripts = tuple(tracked(".gd"))
    python = ("llm", "SConstruct", *tracked(".py"))
    tools = tuple(f"tools/{name}" for name in _OWN_TOOLS)
    return [
        Check("rules", ("python", "-m", "check.rules"), (".",)),
        Check("ruff", ("ruff", "check", "--quiet", "--output-format=concise"), python),
        Check("ruff format", ("ruff", "format", "--quiet", "--diff"), python),
        Check("clang-format", ("clang-format", "--dry-run", "-Werror"), tuple(tracked(*_C_LIKE))),
        Check("gdformat", ("gdformat", "--check"), scripts),
        Check("gdlint", ("gdlint",), scripts),
        Check("mypy", ("mypy", "--no-error-summary"), ("python/llm", "python/godot", *tools)),
    ]


def run() -> tuple[Counts, int]:
    """Runs every check, whatever the others say; a check without files has failed."""
    counts = Counts()
    for check in checks():
        started = time.monotonic()
        problems = _problems(check)
        seconds = time.monotonic() - started
        print(
            f"  {check.name:<14} {'failed' if problems else 'ok':<8} {seconds:5.1f} s", flush=True
        )
        for line in problems.splitlines():
            print(f"    {line}")
        counts += Counts(failed=1) if problems else Counts(passed=1)
    sys.stdout.flush()
    return counts, 1 if counts.failed else 0


def _problems(check: Check) -> str:
    if not check.files:
        return "no file to check"
    program, *options = check.command
    files = [] if check.files == (".",) else check.files
    result = subprocess.run(
        [str(VENV / "bin" / program), *options, *files],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'tools'}:{ROOT / 'python'}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return "" if result.returncode == 0 else result.stdout.strip() or f"{result.returncode}"
