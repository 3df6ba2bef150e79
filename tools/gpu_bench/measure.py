"""One measurement: a run of the packed template, or a run of llama.cpp. Both give JSON."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_bench.template import Template
from llm.commands import arguments
from setup import vulkan
from setup.display import has_display, virtual_display
from setup.engine_process import INTERRUPTED, TIMED_OUT, Streams, run
from setup.paths import ENGINE
from setup.report import SetupError

COMMAND = "llm.commands.bench"
WITH_VULKAN = "with-vulkan"
_LLAMA_CPP = Path(__file__).resolve().parent / "llama_cpp.py"
_SHOWN_LINES = 12


class MeasureError(Exception):
    """A run gave no figures; what it said is in the text."""


@dataclass(frozen=True)
class Work:
    """What is run: a model, and how much of it."""

    name: str
    path: Path
    prompt_tokens: int
    tokens: int
    positions: tuple[int, ...]


@contextlib.contextmanager
def screen(template: Template) -> Iterator[dict[str, str]]:
    """Variables for a screen and a driver, kept for as many runs as there are."""
    if template.is_script:
        yield {}
        return
    software = ENGINE / "lvp_icd.json" if template.is_private else None
    driver = vulkan.driver_environment(os.environ, software, vulkan.machine_has_gpu())
    if has_display(os.environ):
        yield driver
        return
    if shutil.which("Xvfb") is None:
        raise SetupError("there is no screen, and Xvfb, which makes one, is not installed")
    with virtual_display() as variables:
        yield {**driver, **variables}


def measure_ours(
    template: Template,
    variables: dict[str, str],
    executor: str,
    work: Work,
    log: Path,
    limit_s: float,
    *,
    profile: bool = False,
) -> dict[str, Any]:
    """What `./llm bench --json` says, run in the template. Raises MeasureError."""
    words = [
        f"--model={work.path.absolute()}",
        f"--executor={executor}",
        f"--prompt-tokens={work.prompt_tokens}",
        f"--tokens={work.tokens}",
        f"--positions={','.join(map(str, work.positions))}",
        "--json",
        *(["--profile"] if profile else []),
    ]
    command = [template.program, "--audio-driver", "Dummy", "--", COMMAND, *arguments.pack(words)]
    said = log.with_suffix(".out")
    with log.open("wb") as engine_log, said.open("w+b") as output:
        streams = Streams(engine_log.fileno(), engine_log.fileno(), output.fileno())
        try:
            status = run(command, variables, streams, limit_s)
        except OSError as error:
            raise MeasureError(f"{template.program} does not start: {error.strerror}") from None
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    facts = _facts(
        status, said.read_text(encoding="utf-8"), log.read_text(encoding="utf-8", errors="replace")
    )
    if facts["executor"] != executor:
        raise MeasureError(
            f"it went on as {facts['executor']}: its groups stopped running together"
        )
    return facts


def measure_llama_cpp(python: Sequence[str], work: Work, limit_s: float) -> dict[str, Any]:
    """What llama_cpp.py says, run by a Python that has llama.cpp. Raises MeasureError."""
    numbers = [work.prompt_tokens, work.tokens, *work.positions]
    command = [*python, str(_LLAMA_CPP), str(work.path.absolute()), *map(str, numbers)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise MeasureError(f"it took more than {limit_s:g} s") from None
    except OSError as error:
        raise MeasureError(f"{command[0]} does not start: {error.strerror}") from None
    if "No module named 'cyllama'" in done.stderr:
        raise MeasureError(
            f"{' '.join(python)} has no llama.cpp: give it the wheel cyllama-vulkan (Python 3.12 "
            "or newer), or name another one with --llama-python"
        )
    return _facts(done.returncode, done.stdout, done.stderr)


def llama_python(named: str | None) -> list[str]:
    """The words that start it: those given, else this Python, on the host's Vulkan driver."""
    if named is not None:
        return named.split()
    return [*([WITH_VULKAN] if shutil.which(WITH_VULKAN) else []), sys.executable]


def _facts(status: int, said: str, log: str) -> dict[str, Any]:
    """The figures. They count also where the program ends badly after it, as with some drivers;
    its `status` is among them."""
    for line in reversed(said.splitlines()):
        if line.startswith("{"):
            return {**json.loads(line), "status": status}
    ending = "\n".join([*said.splitlines(), *log.splitlines()][-_SHOWN_LINES:])
    what = "it took too long" if status == TIMED_OUT else f"it ended with status {status}"
    raise MeasureError(f"{what}, saying:\n{ending}" if ending else f"{what}, saying nothing")
