"""A conversation in a terminal: its keys, and who obeys them."""

import fcntl
import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands.conftest import ROOT

LIMIT_S = 120.0
CTRL_C, CTRL_D = "\x03", "\x04"
QUESTION = "Tell me a long story"
GREEDY = ("--temperature", "0", "--max-tokens", "400")


class Terminal:
    """`./llm chat` behind a pseudo-terminal: what one types, what one sees, how it ends."""

    def __init__(self, folder: Path, *words: str) -> None:
        self._screen, terminal = pty.openpty()
        self._process = subprocess.Popen(
            [str(ROOT / "llm"), "chat", *words],
            cwd=folder,
            env={**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": ""},
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # its keys make signals
        )
        os.close(terminal)
        self._unread = ""

    def press(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def read_until(self, text: str) -> str:
        """What appears up to and with `text`."""
        end = time.monotonic() + LIMIT_S
        while text not in self._unread:
            piece = self._read(end)
            assert piece, f"{text!r} did not come; there is {self._unread!r}"
            self._unread += piece
        before, _, self._unread = self._unread.partition(text)
        return before + text

    def exit_status(self) -> int:
        """Reads on until the command has ended."""
        end = time.monotonic() + LIMIT_S
        while piece := self._read(end):
            self._unread += piece
        return self._process.wait(max(0.0, end - time.monotonic()))

    def close(self) -> None:
        os.close(self._screen)  # which hangs up, and ends what still runs
        self._process.wait(LIMIT_S)

    def _read(self, end: float) -> str:
        """The next piece; none at the end of the command or of the time."""
        ready, _, _ = select.select([self._screen], [], [], max(0.0, end - time.monotonic()))
        try:
            return os.read(self._screen, 4096).decode(errors="replace") if ready else ""
        except OSError:  # how Linux says that nobody writes there any more
            return ""


def test_thoughts_are_dimmed(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "--model", "echo:<think>Hm.</think>Yes.")
    try:
        terminal.read_until("> ")
        terminal.press("Really?\n")
        terminal.read_until("\x1b[2mHm.\x1b[0m\r\n\r\nYes.\r\n> ")
        terminal.press(CTRL_D)
        assert terminal.exit_status() == 0
    finally:
        terminal.close()


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path, *GREEDY)
    yield terminal
    terminal.close()


def test_ctrl_c_stops_the_answer_and_then_leaves(chat: Terminal) -> None:
    for _time in range(2):
        chat.read_until("> ")
        chat.press("/reset\n")
        chat.read_until("> ")
        chat.press(f"{QUESTION}\n")
        chat.read_until(f"{QUESTION}\r\n")
        chat.read_until(" ")  # the answer has begun
        chat.press(CTRL_C)
        chat.read_until("(cancelled)")
    chat.read_until("> ")
    chat.press(CTRL_C)
    assert chat.exit_status() == 0


def test_ctrl_c_at_the_prompt_asks_for_another(chat: Terminal) -> None:
    chat.read_until("> ")
    chat.press(CTRL_C)
    chat.read_until("(Ctrl-C again leaves)")
    chat.read_until("> ")
    chat.press(CTRL_D)
    assert chat.exit_status() == 0


def test_ctrl_c_while_the_model_loads_leaves(chat: Terminal) -> None:
    chat.read_until("loading")
    chat.press(CTRL_C)
    assert chat.exit_status() == 130


def test_quit(chat: Terminal) -> None:
    chat.read_until("> ")
    chat.press("/quit\n")
    assert chat.exit_status() == 0
