"""The command line: what each command needs set up, and how it runs."""

import contextlib
import fcntl
import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence

from llm.commands import arguments
from setup import (
    default_model,
    display,
    engine,
    native_host,
    project_import,
    python_environment,
    system_packages,
    vulkan,
)
from setup.engine_process import INTERRUPTED
from setup.launch import Launcher
from setup.paths import CACHE, DEFAULT_MODEL, ROOT, VENV_PYTHON
from setup.report import SetupError, say

_OWN_COMMANDS = {
    "test": "run the checks and tests:  [GROUP…] [-- PYTEST ARGUMENTS…]",
    "export": "make games of the project's export presets, in build/:  [PRESET…]",
    "setup": "do all of the set-up now",
    "godot": "run the engine on this project:  [ENGINE ARGUMENTS…], for example -e for the editor",
}


def main(words: Sequence[str]) -> int:
    """Runs one command; returns its exit status."""
    if not words or words[0] in ("-h", "--help", "help"):
        print(_usage(), file=sys.stdout if words else sys.stderr)
        return 0 if words else 2
    name, rest = words[0], list(words[1:])
    try:
        return _command(name, rest)
    except SetupError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def _usage() -> str:
    rows = {name: command.help for name, command in arguments.COMMANDS.items()} | _OWN_COMMANDS
    lines = [f"  {name:<11} {text}" for name, text in rows.items()]
    return "usage: ./llm COMMAND [OPTIONS…]\n\n" + "\n".join(lines) + "\n\n./llm COMMAND --help"


def _command(name: str, words: list[str]) -> int:
    if name in ("info", "models"):
        options = arguments.parse(name, words)
        return _outside_the_engine(f"llm.commands.{name}", arguments.forward(name, options))
    if name == "demo":
        return _demo(arguments.parse(name, words))
    if name in arguments.COMMANDS:
        return _inside_the_engine(name, arguments.parse(name, words))
    if name == "test":
        from check.main import main as run_tests

        return run_tests(words)
    if name == "export":
        from shipping.export import main as run_exports

        return run_exports(words)
    if name == "setup" and not words:
        _set_up_everything()
        say("everything is set up")
        return 0
    if name == "godot":
        with exclusive():
            launcher = Launcher(prepare_engine())
        return launcher.project(words)
    what = "setup takes no options" if name == "setup" else f"there is no command '{name}'"
    say(f"{what} (try ./llm --help)")
    return 2


def _outside_the_engine(module: str, words: Sequence[str]) -> int:
    with exclusive():
        python_environment.ensure()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    sys.stdout.flush()
    os.execve(VENV_PYTHON, [str(VENV_PYTHON), "-m", module, *words], environment)


def _demo(options: Namespace) -> int:
    if not display.has_display(os.environ):
        raise SetupError("demo shows a window, and there is no display")
    with exclusive():
        launcher = Launcher(prepare_engine())
        if options.model is None:
            default_model.ensure()
            options.model = str(DEFAULT_MODEL)
    scene = f"res://scenes/{options.scene}/{options.scene}.tscn"
    words = ["--audio-driver", "Dummy", "--no-header", scene, "--", f"--model={options.model}"]
    return launcher.project(words)


def _inside_the_engine(name: str, options: Namespace) -> int:
    in_window = name == "chat" and options.prompt is None and display.has_display(os.environ)
    with exclusive():
        launcher = Launcher(prepare_engine())
        if options.model is None:
            default_model.ensure()
            if not in_window:  # the window opens the model that it had last
                options.model = str(DEFAULT_MODEL)
        headless = options.executor == "reference" or not _prepare_screen(options)
    words = arguments.forward(name, options)
    if in_window:
        return launcher.project(["--audio-driver", "Dummy", "--no-header", "--", *words])
    return launcher.module(
        f"llm.commands.{name}",
        arguments.pack(words),
        headless=headless,
        interactive=name == "chat" and options.prompt is None,
    )


def _prepare_screen(options: Namespace) -> bool:
    """True when the engine can have a rendering device; False sends `auto` to the reference."""
    if display.has_display(os.environ):
        return True
    try:
        system_packages.ensure([system_packages.XVFB])
    except SetupError as error:
        if options.executor != "auto":
            raise
        say(f"{error}; without it the model runs on the CPU, slowly")
        return False
    return True


def prepare_engine() -> engine.Engine:
    """Everything that a run inside the engine needs but a screen and a model."""
    python = python_environment.ensure()
    godot = engine.ensure()
    if not godot.private and not vulkan.machine_has_driver():
        with contextlib.suppress(SetupError):  # a headless run needs no driver
            system_packages.ensure([system_packages.SOFTWARE_DRIVER])
    native_host.ensure(godot, python)
    project_import.ensure(godot)
    return godot


def _set_up_everything() -> None:
    with exclusive():
        prepare_engine()
        default_model.ensure()
        needs = list(system_packages.SHADER_TOOLS)
        if not display.has_display(os.environ):
            needs.append(system_packages.XVFB)
        system_packages.ensure(needs)


@contextlib.contextmanager
def exclusive() -> Iterator[None]:
    """One set-up at a time; a second command waits for the first one's."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "setup.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for the set-up of another command")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
