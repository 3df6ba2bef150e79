"""A project of a test's own with this add-on, and the real editor in it, which a script drives."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.installed_addon import complaints, report_of

from setup import vulkan
from setup.engine import Engine
from setup.paths import ADDON, ADDON_BIN

NAME = "Driven"
SETTINGS = f"""config_version=5

[application]

config/name="{NAME}"
run/main_scene="res://main.tscn"

[editor]

run/main_run_args="--headless"

[rendering]

renderer/rendering_method="mobile"
"""
SCENE = '[gd_scene format=3]\n\n[node name="Main" type="{kind}"]\n'
DRIVER = "driver"  # the plugin's folder
PLUGIN = '[plugin]\n\nname="Driver"\ndescription=""\nauthor=""\nversion="1"\nscript="plugin.gd"\n'
SOURCES = shutil.ignore_patterns("native", "bin")
LIMIT_S = 120.0
BEGUN = "DRIVEN"  # what the driver says first
# Godot 4.6.3 crashes at times before it, in a project that it opens for the first time: a thread
# reads the scripts' documentation from folders that a second scan replaces.
STARTS = 4


@dataclass(frozen=True)
class Driven:
    """What came of a session in the editor."""

    report: dict[str, Any]
    output: str  # both streams

    @property
    def complaints(self) -> list[str]:
        """Lines about errors and warnings."""
        return complaints(self.output)


class EditorProject:
    """The add-on is copied, with this checkout's Python behind it; the editor's settings, and what
    it remembers, are the project's own."""

    def __init__(
        self, folder: Path, godot: Engine, screen: Mapping[str, str], *, with_addon: bool = True
    ) -> None:
        """Imports it. Without the add-on there is no trace of that."""
        self.folder = folder / "project"
        self.home = folder / "home"
        self._godot = godot
        self._screen = screen
        self._plugins = ["llm"] if with_addon else []
        self.home.mkdir(parents=True)
        self.write("main.tscn", SCENE.format(kind="LLM" if with_addon else "Node"))
        if with_addon:
            self._copy_addon()
        self._enable(self._plugins)
        self.run("--headless", "--import")

    def write(self, name: str, text: str) -> Path:
        """A file of the project."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def drive(self, script: Path, *words: str, headless: bool = False) -> Driven:
        """Opens the editor with `script`, which extends driver.gd, as one more plugin. It reads
        `words` as OS.get_cmdline_user_args(), and ends the session. `headless` is quicker, and has
        no pictures."""
        plugin = self.folder / "addons" / DRIVER
        plugin.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(script.with_name("driver.gd"), plugin / "driver.gd")
        shutil.copyfile(script, plugin / "plugin.gd")
        (plugin / "plugin.cfg").write_text(PLUGIN, encoding="utf-8")
        self._enable([*self._plugins, DRIVER])
        options = ["--headless"] if headless else ["--audio-driver", "Dummy"]
        for _ in range(STARTS):
            done = self.run(*options, "--editor", "--", *words)
            if BEGUN in done.stdout or done.returncode >= 0:
                break
        assert done.returncode == 0, f"the editor ended with {done.returncode}:\n{done.stdout}"
        return Driven(report_of(done.stdout), done.stdout)

    def picture(self, name: str) -> Path:
        """Where the driver's take_picture(name) leaves it."""
        return self.home / ".local/share/godot/app_userdata" / NAME / f"{name}.png"

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """The engine in this project; both streams come back as one."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        gpu = vulkan.machine_has_gpu()
        driver = vulkan.driver_environment(own, self._godot.software_driver, gpu)
        return subprocess.run(
            [self._godot.program, "--path", self.folder, *words],
            env={**own, "HOME": str(self.home), **driver, **self._screen},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    def _enable(self, plugins: Iterable[str]) -> None:
        paths = ", ".join(f'"res://addons/{name}/plugin.cfg"' for name in plugins)
        enabled = f"\n[editor_plugins]\n\nenabled=PackedStringArray({paths})\n"
        self.write("project.godot", SETTINGS + enabled)

    def _copy_addon(self) -> None:
        addon = self.folder / "addons" / "llm"
        shutil.copytree(ADDON, addon, ignore=SOURCES)
        (addon / "bin").mkdir()
        for library in ADDON_BIN.glob("libllm.*"):
            shutil.copyfile(library, addon / "bin" / library.name)
        lines = (ADDON_BIN / "runtime.cfg").read_text(encoding="utf-8").splitlines()
        places = [line.partition(" = ") for line in lines]
        self.write(
            "addons/llm/bin/runtime.cfg",
            "".join(
                f"{key} = {value if key == 'module' else (ADDON_BIN / value).resolve()}\n"
                for key, _, value in places
            ),
        )
        self.write(".godot/extension_list.cfg", "res://addons/llm/llm.gdextension\n")
