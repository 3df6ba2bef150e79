"""What the extension calls: once for each level of the engine's start, and once at its end.

This is on the path of every start of the engine, in games too: it imports nothing that is not
needed there.
"""

from __future__ import annotations

import sys

from . import interface

SCENE = 2
EDITOR = 3

SWITCH_INTERVAL = 0.0005  # seconds: the main thread must not wait long for a worker's Python


def initialize(level: int, get_proc_address: int, library: int, module: str) -> None:
    """Registers classes at the scene level, and their documentation at the editor's."""
    if level == SCENE:
        sys.setswitchinterval(SWITCH_INTERVAL)
        _leave_interrupts_alone()
        interface.load(get_proc_address, library)
        from . import callables, command, packed  # noqa: F401 (they add themselves to the tables)

        if module:
            _import(module)
    elif level == EDITOR:
        from .classes import singleton

        # Editor builds come here when they run a game, too.
        if singleton("Engine").is_editor_hint():
            from . import docs

            docs.load_help()


def _leave_interrupts_alone() -> None:
    """Ctrl+C ends the engine as before.

    The first import of Python's signal module, however late and by whom, would turn it into a
    KeyboardInterrupt in whatever callback runs next.
    """
    import _signal  # type: ignore[import-not-found]

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def _import(module: str) -> None:
    """Imports what registers the add-on's own classes; a failure is reported, no more."""
    import importlib

    from .log import report_exception

    try:
        importlib.import_module(module)
    except BaseException:
        report_exception(f"import {module}")


def deinitialize(level: int, get_proc_address: int, library: int, module: str) -> None:
    """Stops what Python runs, and takes the classes back; the engine is not called after this."""
    from . import instances, registration

    instances.shut_down()
    registration.unregister_all()
    interface.unload()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
