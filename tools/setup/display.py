"""A screen for the engine: the user's own, or a virtual one that lives as long as the command.

Godot has no rendering device without a display server, so that the GPU is out of reach with
`--headless`.
"""

import contextlib
import os
import select
import subprocess
from collections.abc import Iterator, Mapping

from setup.orphans import die_with_parent
from setup.report import SetupError

START_SECONDS = 20.0


def has_display(environment: Mapping[str, str]) -> bool:
    """True when the user has a screen."""
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


@contextlib.contextmanager
def virtual_display() -> Iterator[dict[str, str]]:
    """Starts Xvfb on a number that it finds free itself; gives the variables for its clients."""
    reader, writer = os.pipe()
    try:
        server = subprocess.Popen(
            [
                *("Xvfb", "-displayfd", str(writer), "-screen", "0", "1280x800x24"),
                *("-nolisten", "tcp", "-noreset"),
            ],
            pass_fds=[writer],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the engine; the screen goes after it
            preexec_fn=die_with_parent,
        )
    finally:
        os.close(writer)
    try:
        with open(reader, "rb") as numbers:
            ready, _, _ = select.select([numbers], [], [], START_SECONDS)
            number = numbers.readline().strip().decode() if ready else ""
        if not number:
            raise SetupError("Xvfb does not start; try it by hand:  Xvfb -displayfd 1")
        yield {"DISPLAY": f":{number}", "WAYLAND_DISPLAY": "", "XDG_SESSION_TYPE": "x11"}
    finally:
        server.terminate()
        try:
            server.wait(timeout=5)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
