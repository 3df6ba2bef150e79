"""The native library built by scons, and runtime.cfg, which tells it where Python is."""

import os
from pathlib import Path

from setup import system_packages
from setup.engine import Engine
from setup.paths import ADDON, ADDON_BIN, ROOT, VENV
from setup.processes import run_logged
from setup.python_environment import EmbeddedPython
from setup.stamp import Stamp, changes

STARTS_WITH = "llm.nodes"
_SOURCES = ("*.c", "*.h", "*.py")


def ensure(engine: Engine, python: EmbeddedPython) -> None:
    """Builds what changed, for this engine and this Python."""
    stamp = Stamp(ADDON_BIN / "built.stamp", changes(_inputs()), engine.version, python.library)
    if not stamp.is_current():
        system_packages.ensure([system_packages.COMPILER])
        stamp.clear()
        # One job: cffi's compiler changes the working directory of the whole process.
        run_logged(
            "building the native host",
            [VENV / "bin" / "scons", "-Q", "-j1", f"godot={engine.program}"],
        )
        stamp.write()
    _write_if_changed(ADDON_BIN / "runtime.cfg", runtime_configuration(python, ADDON_BIN, ROOT))


def runtime_configuration(python: EmbeddedPython, folder: Path, root: Path) -> str:
    """Text of runtime.cfg in `folder`: what is inside the project is named relative to it."""

    def place(path: str | Path) -> str:
        absolute = Path(path)
        inside = absolute.is_relative_to(root)
        return os.path.relpath(absolute, folder) if inside else str(absolute)

    lines = [
        ("library", place(python.library)),
        ("home", place(python.home)),
        ("path", place(python.standard_library)),
        ("path", place(python.extension_modules)),
        ("path", place(python.packages)),
        ("path", place(root / "python")),
        ("path", place(folder)),
        ("module", STARTS_WITH),
    ]
    return "".join(f"{key} = {value}\n" for key, value in lines)


def _inputs() -> list[Path]:
    folders = (ADDON / "native", ROOT / "python" / "godot" / "building")
    found = [path for folder in folders for name in _SOURCES for path in folder.rglob(name)]
    return [ROOT / "SConstruct", *found]


def _write_if_changed(path: Path, text: str) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
