"""Running a program of the set-up: its output goes to a log, its progress to the screen."""

import contextlib
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from setup.orphans import die_with_parent
from setup.paths import CACHE, ROOT
from setup.report import Progress, SetupError

_APT_STATUS = re.compile(r"(?:dl|pm)status:[^:]*:([0-9.]+):(.*)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ERROR = re.compile(r"\berrors?\b *:|^E:", re.IGNORECASE)


def run_logged(
    title: str,
    command: Sequence[str | Path],
    *,
    environment: Mapping[str, str] | None = None,
    describe: Callable[[str], str | None] = lambda line: line,
    to_its_end: bool = False,
) -> None:
    """Runs the program and shows each line that `describe` makes of its output.

    Ctrl-C ends the program too; with `to_its_end` it is left to finish first, for what would leave
    the machine in disorder.

    All the output lands in `.cache/logs/`; a failure raises SetupError with the first line that
    speaks of an error (else the last line) and the log's place.
    """
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    log_path = CACHE / "logs" / f"{name[:40]}.log"
    log_path.parent.mkdir(parents=True, exist_ok=True)
    progress = Progress(title)
    reason = ""
    with (
        log_path.open("w", encoding="utf-8") as log,
        _running(command, environment, to_its_end) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            log.write(line)
            text = _COLOUR.sub("", line).strip()
            if text:
                if not _ERROR.search(reason):
                    reason = text
                shown = describe(text)
                if shown:
                    progress.show(shown)
    if process.returncode != 0:
        progress.fail()
        raise SetupError(
            f"{title}: {Path(command[0]).name} failed ({reason}); see {log_path.relative_to(ROOT)}"
        )
    progress.finish()


@contextlib.contextmanager
def _running(
    command: Sequence[str | Path], environment: Mapping[str, str] | None, to_its_end: bool
) -> Iterator["subprocess.Popen[str]"]:
    try:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=to_its_end,
            preexec_fn=None if to_its_end else die_with_parent,
        )
    except OSError as error:
        raise SetupError(f"{command[0]} does not start: {error.strerror}") from None
    with process:  # closes the pipe and waits
        try:
            yield process
        except BaseException:
            if to_its_end:
                process.communicate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=5)  # after Ctrl-C it got the signal too
            process.kill()
            raise


def describe_apt(line: str) -> str | None:
    """Progress of `apt-get -o APT::Status-Fd=1`, None for its other lines."""
    match = _APT_STATUS.match(line)
    if match is None:
        return None
    return f"{float(match[1]):3.0f} %  {match[2]}"


def output_of(command: Sequence[str | Path], **extra: str) -> str:
    """What a short program prints; empty when it fails or is not there. `extra` is environment."""
    try:
        return subprocess.run(
            [str(part) for part in command],
            env={**os.environ, **extra},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=60,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
