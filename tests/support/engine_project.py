"""A project of its own with this add-on, and the engine run in it: a test may break both."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import godot_interface

from godot import OS

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(godot_interface.__file__).parent
EXTENSION = "addons/llm/llm.gdextension"
TIMEOUT_SECONDS = 120


class EngineProject:
    """The add-on's library and run.gd are copied, Python and its packages are this engine's own."""

    def __init__(self, folder: Path, module: str = "") -> None:
        self.folder = folder
        self.bin = folder / "addons" / "llm" / "bin"
        self.bin.mkdir(parents=True)
        (folder / "project.godot").write_text("config_version=5\n", encoding="utf-8")
        for name in (EXTENSION, "addons/llm/run.gd"):
            shutil.copyfile(ROOT / name, folder / name)
        for library in BIN.glob("libllm.*"):
            shutil.copyfile(library, self.bin / library.name)
        (folder / ".godot").mkdir()
        extensions = folder / ".godot" / "extension_list.cfg"
        extensions.write_text(f"res://{EXTENSION}\n", encoding="utf-8")
        self.write_config(module=module)

    def write_config(self, module: str = "", **changes: str) -> None:
        """Writes runtime.cfg as this engine has it, with absolute paths and with `changes`."""
        lines = []
        for line in (BIN / "runtime.cfg").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(" = ")
            if key != "module":
                lines.append(f"{key} = {changes.get(key) or (BIN / value).resolve()}")
        lines += [f"path = {ROOT / 'tests'}", f"path = {self.folder}", f"module = {module}"]
        (self.bin / "runtime.cfg").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def run(self, arguments: Iterable[str | Path]) -> subprocess.CompletedProcess[str]:
        """Runs the engine without a display."""
        command: Sequence[str | Path] = [
            OS.get_executable_path(),
            "--headless",
            "--path",
            self.folder,
            *arguments,
        ]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )

    def report(self, script: str, *options: str) -> dict[str, Any]:
        """What a script of tests/support, run in this project, says as REPORT {JSON}."""
        done = self.run([*options, "--script", ROOT / "tests" / "support" / script])
        for line in done.stdout.splitlines():
            if line.startswith("REPORT "):
                found: dict[str, Any] = json.loads(line.removeprefix("REPORT "))
                return {**found, "stderr": done.stderr}
        raise AssertionError(f"no report:\n{done.stdout}\n{done.stderr}")

    def editor_report(self, script: str) -> dict[str, Any]:
        """The same in this project's editor."""
        return self.report(script, "--editor")

    def run_python(self, source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs `source` as a program of run.gd."""
        program = self.folder / "program.py"
        program.write_text(source, encoding="utf-8")
        script = "res://addons/llm/run.gd"
        return self.run(["--script", script, "--", str(program), *arguments])
