"""Exports of small projects, whose files mostly only look like models."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping

from support.installed_addon import LIMIT_S, BlankProject

from setup.engine import Engine
from shipping.export import template_environment

Files = Mapping[str, str]

_REASON = re.compile(r"ERROR: LLM: (.*)")
NAME = 'config/name="Blank"\n'
MAIN = 'run/main_scene="res://main.tscn"\n'
SCENE = '[gd_scene format=3]\n\n[node name="Main" type="LLM"]\nmodel_path = "{}"\n'
PRESET = """[preset.0]

name="Game"
platform="Linux"
runnable=true
export_filter="{filter}"
export_files=PackedStringArray("res://main.tscn")
include_filter="{include}"
exclude_filter=""
export_path=""
encrypt_pck={encrypt}

[preset.0.options]

binary_format/architecture="x86_64"
binary_format/embed_pck={embed}
"""


class Exported:
    """The outcome of exporting a project that consists of `files`; with `main`, main.tscn is the
    scene that it runs."""

    def __init__(
        self,
        project: BlankProject,
        godot: Engine,
        files: Files,
        options: Mapping[str, str],
        *,
        filter: str = "all_resources",
        include: str = "",
        embed: bool = False,
        encrypt: bool = False,
        main: bool = False,
    ) -> None:
        for name, text in files.items():
            (project.folder / name).parent.mkdir(parents=True, exist_ok=True)
            project.write(name, text)
        if main:
            settings = (project.folder / "project.godot").read_text(encoding="utf-8")
            project.write("project.godot", settings.replace(NAME, NAME + MAIN))
        lines = "".join(f"llm/models/{name}={value}\n" for name, value in options.items())
        preset = PRESET.format(
            filter=filter,
            include=include,
            embed=str(embed).lower(),
            encrypt=str(encrypt).lower(),
        )
        project.write("export_presets.cfg", preset + lines)
        self.folder = project.home / "game"
        self.folder.mkdir()
        self._program = self.folder / "game.x86_64"
        self.pack = self._program if embed else self.folder / "game.pck"
        where = template_environment(godot)
        done = project.run("--export-release", "Game", self._program, **where)
        self.status, self.said = done.returncode, done.stdout

    @property
    def models(self) -> set[str]:
        """What lies in the folder of models."""
        folder = self.folder / "models"
        return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}

    def play(self) -> str:
        """Runs the game without a display; both streams come back as one."""
        return subprocess.run(
            [self._program, "--headless"],
            env={"HOME": str(self.folder.parent)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        ).stdout


def reasons(game: Exported) -> set[str]:
    """Why the add-on had the export fail."""
    return set(_REASON.findall(game.said))
