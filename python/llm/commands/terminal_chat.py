"""A conversation in the terminal. A thread of its own reads lines; all else is the main thread."""

import os
import signal
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from llm.commands.output import Output
from llm.nodes import LLM

STDIN = 0
SECOND_PRESS_S = 2.0  # Ctrl-C again within this time leaves
INTERRUPTED = 130  # as a shell reports Ctrl-C

HELP = """\
/reset   begin a new conversation
/quit    leave; so does Ctrl-D, or Ctrl-C twice
/help    this
Ctrl-C   stop the answer
"""


class TerminalChat:
    """Asks line after line, the next when the answer is over, and quits the tree at the end."""

    def __init__(self, llm: LLM, output: Output) -> None:
        self._llm = llm
        self._output = output
        self._lines: SimpleQueue[str | None] = SimpleQueue()  # None: no more come
        self._is_busy = False
        self._interrupted_at = float("-inf")
        self._shows_prompt = os.isatty(STDIN)
        self._shown_percent = -1

    def start(self) -> None:
        self._llm.load_progress.connect(self._on_progress)
        self._llm.worker_started.connect(self._on_loaded)
        self._llm.worker_failed.connect(self._on_failed)
        self._llm.reasoning_updated.connect(self._on_thought)
        self._llm.response_updated.connect(self._on_updated)
        self._llm.response_ended.connect(self._on_ended)
        self._llm.get_tree().process_frame.connect(self._on_frame)
        signal.signal(signal.SIGINT, self._on_interrupt)
        self._is_busy = True
        self._llm.start_worker()
        threading.Thread(target=self._read_lines, name="llm-stdin", daemon=True).start()

    def _read_lines(self) -> None:
        with open(STDIN, encoding="utf-8", errors="replace", closefd=False) as stdin:
            for line in stdin:
                self._lines.put(line.strip())
        self._lines.put(None)

    def _on_frame(self) -> None:
        if self._is_busy:
            return
        try:
            line = self._lines.get_nowait()
        except Empty:
            return
        if line is None:
            self._output.note("\n" if self._shows_prompt else "")
            self._quit(0)
        elif line.startswith("/"):
            self._obey(line)
        elif line:
            self._is_busy = True
            self._interrupted_at = float("-inf")
            self._llm.ask(line)
        else:
            self._invite()

    def _obey(self, line: str) -> None:
        commands: dict[str, Callable[[], Any]] = {
            "/help": lambda: self._output.note(HELP),
            "/reset": self._llm.reset_context,
            "/quit": lambda: self._quit(0),
        }
        known = commands.get(line.split()[0])
        if known is None:
            self._output.error(f"there is no {line.split()[0]}; /help lists what there is")
        else:
            known()
        if line.split()[0] != "/quit":
            self._invite()

    def _on_progress(self, fraction: float) -> None:
        percent = int(fraction * 100)
        if self._output.is_terminal and percent != self._shown_percent:
            self._shown_percent = percent
            self._output.note(f"\rloading {percent} %")

    def _on_loaded(self) -> None:
        stats = self._llm.get_stats()
        start = "\r" if self._output.is_terminal else ""
        self._output.note(
            f"{start}{stats['model']} on {stats['device']} ({stats['executor']}), "
            f"context {stats['context_length']}. /help lists commands.\n"
        )
        self._invite()

    def _on_failed(self, error: str) -> None:
        self._output.note("\n" if self._shown_percent >= 0 else "")
        self._output.error(error)
        self._quit(1)

    def _on_thought(self, _request: int, text: str) -> None:
        self._output.thought(text)

    def _on_updated(self, _request: int, text: str) -> None:
        self._output.write(text)

    def _on_ended(self, _request: int, reason: str) -> None:
        self._output.write("\n")
        if reason == "error":
            self._output.error(self._llm.get_last_error())
        elif reason != "stop":
            self._output.note(f"({reason})\n")
        self._invite()

    def _on_interrupt(self, _signal: int, _frame: object) -> None:
        """Stops the answer. A second time, or with no model to talk to yet, it leaves."""
        now = time.monotonic()
        if now - self._interrupted_at < SECOND_PRESS_S:
            self._quit(0)
            return
        self._interrupted_at = now
        if self._llm.is_loading():
            self._output.note("\n")
            self._quit(INTERRUPTED)
        elif self._llm.is_answering():
            self._llm.stop_generation()
        else:
            self._output.note("\n(Ctrl-C again leaves)\n")
            self._invite()

    def _invite(self) -> None:
        self._is_busy = False
        if self._shows_prompt:
            self._output.note("> ")

    def _quit(self, status: int) -> None:
        self._is_busy = True  # no line is looked at any more
        self._llm.get_tree().quit(status)
