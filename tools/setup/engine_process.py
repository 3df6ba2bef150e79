"""One run of the engine as a child process: its descriptors, its time, and its end."""

import contextlib
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from setup.orphans import die_with_parent

INTERRUPTED = 130
TIMED_OUT = 124

# Ctrl-C so many times in so many seconds ends even an engine that takes no notice.
PRESSES = 5
WITHIN_S = 2.0

Handler = Callable[[int, object], None]


@dataclass(frozen=True)
class Streams:
    """Where the engine's own stdout and stderr go, and where its command's do; None: inherited."""

    stdout: int | None = None
    stderr: int | None = None
    command_stdout: int | None = None
    command_stderr: int | None = None


def run(
    command: Sequence[str],
    variables: Mapping[str, str],
    streams: Streams,
    limit_s: float | None = None,
    *,
    interactive: bool = False,
) -> int:
    """Runs the engine to its end, or to its limit. Returns its exit status, negative for a signal.

    Ctrl-C reaches the engine as well; it gets a moment to stop by itself. An interactive one
    decides what Ctrl-C means, unless it is pressed again and again.
    """
    environment = {**os.environ, **variables}
    kept: list[int] = []
    for name, descriptor in (
        ("LLM_STDOUT_FD", streams.command_stdout),
        ("LLM_STDERR_FD", streams.command_stderr),
    ):
        if descriptor is not None:
            kept.append(os.dup(descriptor))
            environment[name] = str(kept[-1])
    handlers: dict[int, Handler] = {signal.SIGTERM: _interrupt}
    if interactive:
        # A handler, as SIG_IGN would be inherited by the engine.
        handlers[signal.SIGINT] = _patience(PRESSES, WITHIN_S)
    with _handling(handlers):
        process = None
        try:
            process = subprocess.Popen(
                command,
                env=environment,
                stdout=streams.stdout,
                stderr=streams.stderr,
                pass_fds=kept,
                preexec_fn=die_with_parent,
            )
            status = process.wait(limit_s)
            return INTERRUPTED if status == -signal.SIGINT else status
        except KeyboardInterrupt:
            return INTERRUPTED
        except subprocess.TimeoutExpired:
            return TIMED_OUT
        finally:
            if process is not None:
                _end(process)
            for descriptor in kept:
                os.close(descriptor)


@contextlib.contextmanager
def _handling(handlers: Mapping[int, Handler]) -> Iterator[None]:
    previous = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _patience(presses: int, within_s: float) -> Handler:
    """A handler of SIGINT that does nothing until that many come within that time."""
    times: deque[float] = deque(maxlen=presses)

    def handle(number: int, frame: object) -> None:
        times.append(time.monotonic())
        if len(times) == presses and times[-1] - times[0] < within_s:
            _interrupt(number, frame)

    return handle


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Waits a moment, then asks, then forces."""
    for seconds, stop in ((0.5, process.terminate), (3.0, process.kill), (None, process.kill)):
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(timeout=seconds)
        if process.poll() is not None:
            return
        stop()
