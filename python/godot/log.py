"""The engine's log, and the one place where a Python exception becomes an error of the engine."""

from __future__ import annotations

from . import api
from .interface import ffi, lib, string_name
from .variant import write_variant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Any

_utilities: dict[str, Any] = {}


def _call_utility(name: str, *arguments: object) -> None:
    function = _utilities.get(name)
    if function is None:
        function = lib.variant_get_ptr_utility_function(string_name(name), api.UTILITIES[name])
        if function == ffi.NULL:
            raise RuntimeError(f"this engine has no {name} with the hash of Godot {api.VERSION}")
        _utilities[name] = function
    values = ffi.new("Value[]", max(len(arguments), 1))
    keep: list[Any] = []
    for i, argument in enumerate(arguments):
        write_variant(values[i], argument, keep)
    lib.utility_call(function, values, len(arguments))


def print(*arguments: object) -> None:
    """Prints a line through the engine, so that the editor's output panel has it too."""
    _call_utility("print", " ".join(map(str, arguments)))


def log_warning(text: str) -> None:
    """A warning in the engine's log."""
    _call_utility("push_warning", text)


def log_error(text: str) -> None:
    """An error in the engine's log, at the caller's line."""
    import sys

    _error(text, "", sys._getframe(1))


def _error(text: str, details: str, frame: FrameType) -> None:
    lib.print_error_with_message(
        text.encode("utf-8", "replace"),
        details.encode("utf-8", "replace"),
        frame.f_code.co_name.encode(),
        frame.f_code.co_filename.encode(),
        frame.f_lineno,
        0,
    )


def report_exception(where: str) -> None:
    """Writes the exception being handled to the engine's log, with its traceback. Never raises.

    `where` names what the engine had called, e.g. "LLM.ask".
    """
    import sys

    kind, error, trace = sys.exc_info()
    if kind is None or error is None:
        return
    try:
        import traceback  # here, since it pulls in much that a run without errors never needs

        summary = "".join(traceback.format_exception_only(kind, error)).strip()
        text = "".join(traceback.format_exception(kind, error, trace)).strip()
    except Exception:  # e.g. an exception whose text cannot be made
        summary = text = kind.__name__
    line, file = _origin(trace)
    lib.print_script_error_with_message(
        summary.encode("utf-8", "replace"),
        text.encode("utf-8", "replace"),
        where.encode("utf-8", "replace"),
        file.encode("utf-8", "replace"),
        line,
        0,
    )


def _origin(trace: TracebackType | None) -> tuple[int, str]:
    """Line and file where the exception was raised."""
    if trace is None:
        return 0, "unknown"
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_lineno, trace.tb_frame.f_code.co_filename
