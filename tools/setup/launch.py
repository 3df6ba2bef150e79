"""Running the engine on the project, for a window or for one command's output."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from setup import vulkan
from setup.display import has_display, virtual_display
from setup.engine import Engine
from setup.orphans import die_with_parent
from setup.paths import CACHE, ENGINE_LOG, ROOT
from setup.report import say

INTERRUPTED = 130
RUNNER = "res://addons/llm/run.gd"
_SHOWN_LINES = 20
_BROKEN = ("Traceback (most recent call last)", "SCRIPT ERROR:", "run.gd:")


@dataclass(frozen=True)
class Launcher:
    """Runs one engine. Each call blocks until the engine has quit and returns its exit status."""

    engine: Engine

    def project(self, arguments: Sequence[str]) -> int:
        """The engine on this project, on the user's screen and terminal."""
        return _run(self._command(arguments), self._environment())

    def module(
        self, name: str, arguments: Sequence[str], *, headless: bool, output: int | None = None
    ) -> int:
        """`main` of a Python module inside the engine.

        The engine's own chatter goes to a log, whose end is shown when something broke. What the
        module has to say goes to the descriptors LLM_STDOUT_FD and LLM_STDERR_FD: this process's
        own two, or both of them to `output`.
        """
        words = ["--script", RUNNER, "--", name, *arguments]
        CACHE.mkdir(exist_ok=True)
        _drop_logs_of_the_killed()
        log_path = ENGINE_LOG.with_suffix(f".{os.getpid()}.log")
        said = (1, 2) if output is None else (output, output)
        with log_path.open("wb") as log:
            try:
                status = self._offscreen(words, headless, log.fileno(), said)
                return _explain(status, log_path)
            finally:
                log_path.replace(ENGINE_LOG)

    def script(self, path: str, output: int) -> int:
        """A GDScript main loop at a res:// address; all that is said goes to `output`."""
        return self._offscreen(["--script", path], False, output, (output, output))

    def _offscreen(
        self, words: Sequence[str], headless: bool, chatter: int, said: tuple[int, int]
    ) -> int:
        options = ["--headless"] if headless else ["--audio-driver", "Dummy"]
        with _screen(headless) as screen:
            variables = {**self._environment(), **screen}
            return _run(self._command([*options, *words]), variables, chatter, said)

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


def _run(
    command: Sequence[str],
    variables: Mapping[str, str],
    chatter: int | None = None,
    said: tuple[int, ...] = (),
) -> int:
    """Runs the engine to its end. Ctrl-C reaches it as well; it gets a moment to stop by itself."""
    environment = {**os.environ, **variables}
    kept = [os.dup(descriptor) for descriptor in said]
    for name, descriptor in zip(("LLM_STDOUT_FD", "LLM_STDERR_FD"), kept, strict=False):
        environment[name] = str(descriptor)
    previous = signal.signal(signal.SIGTERM, _interrupt)
    process = None
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            stdout=chatter,
            stderr=chatter,
            pass_fds=kept,
            preexec_fn=die_with_parent,
        )
        return process.wait()
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        if process is not None:
            _end(process)
        signal.signal(signal.SIGTERM, previous)
        for descriptor in kept:
            os.close(descriptor)


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Waits a moment, then asks, then forces."""
    for seconds, stop in ((0.5, process.terminate), (3.0, process.kill), (None, process.kill)):
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(timeout=seconds)
        if process.poll() is not None:
            return
        stop()


def _drop_logs_of_the_killed() -> None:
    for path in CACHE.glob("engine.*.log"):
        if not Path("/proc", path.name.split(".")[1]).exists():
            path.unlink(missing_ok=True)


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
