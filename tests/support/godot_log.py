"""Collects the engine's errors while a test runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from support.godot_script import compile_script

from godot import OS

_LOGGER = """
extends Logger

var errors: Array[Dictionary] = []
var mutex: Mutex = Mutex.new()

func _log_error(function: String, file: String, line: int, code: String, rationale: String,
        _notify: bool, type: int, _traces: Array[ScriptBacktrace]) -> void:
    var error: Dictionary = {"function": function, "file": file, "line": line, "type": type}
    error.merge({"code": code, "text": rationale})
    mutex.lock()
    errors.append(error)
    mutex.unlock()
"""


@contextmanager
def engine_errors() -> Iterator[list[dict[str, Any]]]:
    """A list that, after the block, holds what the engine logged as errors meanwhile."""
    logger = compile_script(_LOGGER)
    found: list[dict[str, Any]] = []
    OS.add_logger(logger)
    try:
        yield found
    finally:
        OS.remove_logger(logger)
        found.extend(logger.errors)
