"""The add-on as others get it: its zip, and blank projects into which it was unpacked."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from setup.engine import Engine
from setup.paths import ROOT, VENV
from shipping.addon import version

PACKAGE = ROOT / "dist" / f"godot-llm-{version()}.zip"
PLUGIN = '[plugin]\n\nname="{0}"\ndescription=""\nauthor=""\nversion="1"\nscript="{0}.gd"\n'
SETTINGS = 'config_version=5\n\n[application]\n\nconfig/name="Blank"\n'
ENABLED = '\n[editor_plugins]\n\nenabled=PackedStringArray("res://addons/{}/plugin.cfg")\n'
LIMIT_S = 120.0
# Debian's template of 4.6.3 says it of every control when a game quits, with an add-on or without.
TEMPLATE_SAYS = ("Attempt to disconnect a nonexistent connection",)
_ERROR = re.compile(r"^\s*(?:(?:SCRIPT |USER )?(?:ERROR|WARNING)\b|Traceback)|Aborted|handle_crash")


def build_package(godot: Engine) -> Path:
    """As `scons package`."""
    command = [VENV / "bin" / "scons", "-Q", "-j1", f"godot={godot.program}", "package"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return PACKAGE


class BlankProject:
    """A project with nothing but the unpacked zip. Its engine finds no home and no Python."""

    def __init__(self, folder: Path, godot: Engine) -> None:
        """Use `unpack`."""
        self.folder = folder / "project"
        self.home = folder / "home"
        self._godot = godot

    @classmethod
    def unpack(cls, folder: Path, godot: Engine, package: Path, *, enabled: bool) -> BlankProject:
        project = cls(folder, godot)
        project.home.mkdir()
        with zipfile.ZipFile(package) as file:
            file.extractall(project.folder)
        project.write("project.godot", SETTINGS + (ENABLED.format("llm") if enabled else ""))
        return project

    def copied_to(self, folder: Path) -> BlankProject:
        """Another of the same contents, the engine's cache too."""
        project = BlankProject(folder, self._godot)
        project.home.mkdir()
        shutil.copytree(self.folder, project.folder)
        return project

    def open_once(self) -> subprocess.CompletedProcess[str]:
        """Opens the editor, which takes up the extension and imports everything. It stays for a
        while: an editor without a window that ends at once crashes (godot#111048)."""
        return self.run("--editor", "--quit-after", "200")

    def add_plugin(self, name: str, script: Path) -> None:
        """Another than the add-on, enabled in its place."""
        folder = self.folder / "addons" / name
        folder.mkdir()
        (folder / "plugin.cfg").write_text(PLUGIN.format(name), encoding="utf-8")
        shutil.copyfile(script, folder / f"{name}.gd")
        self.write("project.godot", SETTINGS + ENABLED.format(name))

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def files(self) -> set[str]:
        """Of the project, but for the add-on's own and the engine's cache."""
        found = (path.relative_to(self.folder) for path in self.folder.rglob("*"))
        return {str(name) for name in found if name.parts[0] not in ("addons", ".godot")}

    def run(self, *words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """The engine without a display; both streams come back as one."""
        return subprocess.run(
            [self._godot.program, "--headless", "--path", self.folder, *words],
            env={"HOME": str(self.home), "PATH": os.defpath, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )


def report_of(output: str) -> dict[str, Any]:
    """What a script says as REPORT {JSON}."""
    for line in output.splitlines():
        if line.startswith("REPORT "):
            found: dict[str, Any] = json.loads(line.removeprefix("REPORT "))
            return found
    raise AssertionError(f"no report:\n{output}")


def complaints(output: str, known: Sequence[str] = ()) -> list[str]:
    """Lines that speak of an error or a warning, but for those with one of the `known` texts."""
    lines = [line for line in output.splitlines() if _ERROR.search(line)]
    return [line for line in lines if not any(text in line for text in known)]
