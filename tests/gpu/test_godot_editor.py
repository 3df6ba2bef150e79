"""An exposed class in the editor, in a project of its own: shown, saved, documented, not run."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import godot_interface
import pytest

from godot import OS

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(godot_interface.__file__).parent
EXTENSION = "addons/llm/llm.gdextension"
TIMEOUT_SECONDS = 120


def make_project(folder: Path) -> None:
    """A project with this add-on, whose Python starts with tests/support/edited_classes.py."""
    (folder / "project.godot").write_text("config_version=5\n", encoding="utf-8")
    target = folder / "addons" / "llm" / "bin"
    target.mkdir(parents=True)
    shutil.copyfile(ROOT / EXTENSION, folder / EXTENSION)
    for library in BIN.glob("libllm.*"):
        shutil.copyfile(library, target / library.name)
    lines = []
    for line in (BIN / "runtime.cfg").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(" = ")
        if key != "module":
            lines.append(f"{key} = {(BIN / value).resolve()}")
    lines += [f"path = {ROOT / 'tests'}", "module = support.edited_classes"]
    (target / "runtime.cfg").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / ".godot").mkdir()
    (folder / ".godot" / "extension_list.cfg").write_text(f"res://{EXTENSION}\n", encoding="utf-8")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("edited")
    make_project(folder)
    script = ROOT / "tests" / "support" / "editor_check.gd"
    command = [
        OS.get_executable_path(),
        "--headless",
        "--editor",
        "--path",
        folder,
        "--script",
        script,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    for line in done.stdout.splitlines():
        if line.startswith("REPORT "):
            found: dict[str, Any] = json.loads(line.removeprefix("REPORT "))
            return found
    pytest.fail(f"no report:\n{done.stdout}\n{done.stderr}")


def test_properties_show_with_hints_and_defaults(report: dict[str, Any]) -> None:
    assert report["default"] == 0.5
    assert report["level"] == 0.25
    assert report["hint"] == [1, "0,1,0.25"]


def test_a_scene_saves_what_differs(report: dict[str, Any]) -> None:
    assert 'type="EditedNode"' in report["saved"]
    assert "level = 0.25" in report["saved"]


def test_nothing_of_it_runs(report: dict[str, Any]) -> None:
    assert report["answer"] is None
    assert report["made_for_real"] == 0


def test_a_tool_class_runs_and_knows_where(report: dict[str, Any]) -> None:
    assert report["tool_answer"] is True


def test_the_help_has_the_docstrings(report: dict[str, Any]) -> None:
    shown = report["help"].replace("\N{NO-BREAK SPACE}", " ")
    for text in (
        "A node that only shows itself in the editor.",
        "It has level & no more.",
        "How <much>.",
        "Answers question.",
        "answer(question: int, again: bool = false)",
        "changed(level: float)",
        "The level is another.",
    ):
        assert text in shown, text
