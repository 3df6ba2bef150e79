"""Running the engine on the project, for a window or for one command's output."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from setup import vulkan
from setup.display import has_display, virtual_display
from setup.engine import Engine
from setup.engine_process import INTERRUPTED, Streams, run
from setup.paths import CACHE, ENGINE_LOG, ROOT
from setup.report import say

RUNNER = "res://addons/llm/run.gd"
_SHOWN_LINES = 20
_BROKEN = ("Traceback (most recent call last)", "SCRIPT ERROR:", "run.gd:")


@dataclass(frozen=True)
class Launcher:
    """Runs one engine. Each call blocks until the engine has quit and returns its exit status."""

    engine: Engine
    limit_s: float | None = None  # a run that takes longer is ended

    def project(self, arguments: Sequence[str]) -> int:
        """The engine on this project, on the user's screen and terminal."""
        status = run(self._command(arguments), self._environment(), Streams(), self.limit_s)
        return 1 if status < 0 else status

    def module(
        self,
        name: str,
        arguments: Sequence[str],
        *,
        headless: bool,
        output: int | None = None,
        interactive: bool = False,
    ) -> int:
        """`main` of a Python module inside the engine.

        The engine's own chatter goes to a log, whose end is shown when something broke. What the
        module has to say goes to the descriptors LLM_STDOUT_FD and LLM_STDERR_FD: this process's
        own two, or both of them to `output`. An interactive module handles Ctrl-C itself.
        """
        words = ["--script", RUNNER, "--", name, *arguments]
        said = (1, 2) if output is None else (output, output)
        with _log() as path, path.open("wb") as log:
            streams = Streams(log.fileno(), log.fileno(), *said)
            status = self._offscreen(words, headless, streams, interactive=interactive)
            return _explain(status, path)

    def script(self, address: str, arguments: Sequence[str], output: int) -> int:
        """A GDScript main loop at a res:// address; what it prints goes to `output`, the engine's
        errors go to the log."""
        words = ["--script", address, "--", *arguments]
        with _log() as path, path.open("wb") as log:
            return _explain(self._offscreen(words, False, Streams(output, log.fileno())), path)

    def _offscreen(
        self, words: Sequence[str], headless: bool, streams: Streams, *, interactive: bool = False
    ) -> int:
        options = ["--headless"] if headless else ["--audio-driver", "Dummy"]
        with _screen(headless) as screen:
            variables = {**self._environment(), **screen}
            command = self._command([*options, *words])
            return run(command, variables, streams, self.limit_s, interactive=interactive)

    def _command(self, arguments: Sequence[str]) -> list[str]:
        return [str(self.engine.program), "--path", str(ROOT), *arguments]

    def _environment(self) -> dict[str, str]:
        gpu = vulkan.machine_has_gpu()
        return vulkan.driver_environment(os.environ, self.engine.software_driver, gpu)


@contextlib.contextmanager
def _screen(headless: bool) -> Iterator[dict[str, str]]:
    if headless or has_display(os.environ):
        yield {}
        return
    with virtual_display() as variables:
        yield variables


@contextlib.contextmanager
def _log() -> Iterator[Path]:
    """A log of this run's own, which becomes the latest one when the run has ended."""
    CACHE.mkdir(exist_ok=True)
    for path in CACHE.glob("engine.*.log"):
        if not Path("/proc", path.name.split(".")[1]).exists():  # of a run that was killed
            path.unlink(missing_ok=True)
    path = ENGINE_LOG.with_suffix(f".{os.getpid()}.log")
    try:
        yield path
    finally:
        path.replace(ENGINE_LOG)


def _explain(status: int, log_path: Path) -> int:
    """The command's exit status: 0, 1, 2 or that of Ctrl-C. Shows the log where it tells why."""
    if status in (0, INTERRUPTED):
        return status
    lines = log_path.read_text(encoding="utf-8", errors="replace").splitlines()
    died = status not in (1, 2)
    if died or any(line.lstrip().startswith(_BROKEN) for line in lines):
        for line in lines[-_SHOWN_LINES:]:
            print(f"  {line}", file=sys.stderr)
        what = signal.Signals(-status).name if status < 0 else f"status {status}"
        say(f"the engine stopped ({what}); its whole log is {ENGINE_LOG.relative_to(ROOT)}")
    return 1 if died else status
