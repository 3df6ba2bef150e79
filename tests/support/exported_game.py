"""A game that was exported, moved elsewhere, and run where there is neither Python nor project."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from setup.engine import Engine
from setup.paths import DEFAULT_MODEL, ENGINE, ROOT

LIMIT_S = 180.0
DRIVER = ROOT / "tests" / "export" / "driver.gd"


class ExportedGame:
    """A copy of the folder in which `program` lies, with a driver that plays."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.folder = folder / "elsewhere"
        shutil.copytree(program.parent, self.folder)
        self.program = self.folder / program.name
        self._home = folder / "home"
        self._libraries = folder / "libraries"
        for place in (self._home, self._libraries):
            place.mkdir()
        driver = self.folder / DRIVER.name
        shutil.copyfile(DRIVER, driver)
        text = f'[autoload]\n\nDriver="*{driver}"\n'
        (self.folder / "override.cfg").write_text(text, encoding="utf-8")

    def run(
        self, godot: Engine, screen: Mapping[str, str], *words: str
    ) -> subprocess.CompletedProcess[str]:
        """Plays in a mount namespace of its own, from which all of this machine's Python, the
        project and its models are gone; both streams come back as one."""
        driver = godot.software_driver
        variables = {"HOME": str(self._home), "PATH": "/nowhere", **screen}
        if driver is not None:
            variables["VK_DRIVER_FILES"] = str(driver)
        namespace = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        given = [f"{name}={value}" for name, value in variables.items()]
        command = ["env", "-i", *given, str(self.program), "--audio-driver", "Dummy", *words]
        script = "\n".join([*self._hide(godot), f"exec {shlex.join(command)}"])
        return subprocess.run(
            [*namespace, "sh", "-euc", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    def _hide(self, godot: Engine) -> list[str]:
        """Commands that empty the folders of the project, of Python and of the models.

        A private engine's libraries stay where they are: to the template they are the system's.
        """
        folders = {ROOT, DEFAULT_MODEL.resolve().parent, Path(sysconfig.get_path("stdlib"))}
        if sys.base_prefix != "/usr":
            folders.add(Path(sys.base_prefix))
        outer = sorted(path for path in folders if not folders & set(path.parents))
        hide = [f"mount -t tmpfs none {shlex.quote(str(path))}" for path in outer]
        if not godot.private:
            return hide
        kept, place = shlex.quote(str(self._libraries)), shlex.quote(str(ENGINE))
        keep = f"mount --bind {place} {kept}"
        return [keep, *hide, f"mkdir -p {place}", f"mount --bind {kept} {place}"]
