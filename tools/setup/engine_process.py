"""One run of the engine as a child process: its descriptors, its time, and its end."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from setup.orphans import die_with_parent

INTERRUPTED = 130
TIMED_OUT = 124


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
) -> int:
    """Runs the engine to its end, or to its limit. Returns its exit status, negative for a signal.

    Ctrl-C reaches the engine as well; it gets a moment to stop by itself.
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
    previous = signal.signal(signal.SIGTERM, _interrupt)
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
        return process.wait(limit_s)
    except KeyboardInterrupt:
        return INTERRUPTED
    except subprocess.TimeoutExpired:
        return TIMED_OUT
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
