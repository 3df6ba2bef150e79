"""Exports for systems that this engine does not run on: where things go, and why one fails.

Templates and libraries are files that only have the right names: nothing here runs.
"""

import os
import re
import struct
import subprocess
import zipfile
from pathlib import Path

import pytest
from support.installed_addon import ENABLED, LIMIT_S, SETTINGS, BlankProject, complaints

from setup.engine import Engine
from setup.paths import ROOT
from shipping.export import presets

SCENE = '[gd_scene format=3]\n\n[node name="Main" type="LLM"]\nmodel_path = "res://m.gguf"\n'
PRESET = """[preset.0]

name="Game"
platform="{platform}"
runnable=true
export_filter="all_resources"
include_filter=""
exclude_filter=""
export_path=""

[preset.0.options]

custom_template/debug="{template}"
custom_template/release="{template}"
"""
X86_64 = 0x8664
WINDOWS = 'binary_format/architecture="x86_64"\napplication/modify_resources=false\n'
# What Godot asks of a project for ARM's processors.
TEXTURES = "\n[rendering]\n\ntextures/vram_compression/import_etc2_astc=true\n"
MACOS = """binary_format/architecture="universal"
application/bundle_identifier="org.example.game"
codesign/codesign=0
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory, godot: Engine, package: Path) -> BlankProject:
    """A project that the editor has opened before."""
    folder = tmp_path_factory.mktemp("opened")
    made = BlankProject.unpack(folder, godot, package, enabled=True)
    made.open_once()
    made.write("main.tscn", SCENE)
    made.write("m.gguf", "GGUF")
    return made


@pytest.fixture
def project(opened: BlankProject, tmp_path: Path) -> BlankProject:
    return opened.copied_to(tmp_path)


def export(
    project: BlankProject, platform: str, options: str, template: Path, program: Path
) -> subprocess.CompletedProcess[str]:
    project.write(
        "export_presets.cfg", PRESET.format(platform=platform, template=template) + options
    )
    program.parent.mkdir()
    return project.run("--export-release", "Game", program)


def windows_template(folder: Path) -> Path:
    template = folder / "template.exe"
    start = 64  # of the part that names the processor
    head = struct.pack("<2s58xI4sH", b"MZ", start, b"PE", X86_64)
    template.write_bytes(head)
    return template


def macos_template(folder: Path) -> Path:
    template = folder / "macos.zip"
    with zipfile.ZipFile(template, "w") as file:
        contents = "macos_template.app/Contents"
        file.writestr(f"{contents}/Info.plist", "<plist></plist>")
        file.writestr(f"{contents}/MacOS/godot_macos_release.universal", "")
    return template


def test_a_game_for_windows(project: BlankProject, tmp_path: Path) -> None:
    binaries = project.folder / "addons" / "llm" / "bin"
    (binaries / "libllm.windows.x86_64.dll").write_bytes(b"MZ")
    (binaries / "llm.windows.x86_64" / "lib").mkdir(parents=True)
    (binaries / "llm.windows.x86_64" / "runtime.cfg").touch()
    (binaries / "llm.windows.x86_64" / "lib" / "python311.dll").touch()
    program = tmp_path / "game" / "game.exe"
    done = export(project, "Windows Desktop", WINDOWS, windows_template(tmp_path), program)
    assert done.returncode == 0, done.stdout
    assert not complaints(done.stdout)
    placed = {str(path.relative_to(program.parent)) for path in program.parent.rglob("*.*")}
    assert placed == {
        "game.exe",
        "game.pck",
        "libllm.windows.x86_64.dll",
        "llm.windows.x86_64",
        "llm.windows.x86_64/runtime.cfg",
        "llm.windows.x86_64/lib/python311.dll",
        "models/m.gguf",
    }


def test_windows_without_a_runtime(project: BlankProject, tmp_path: Path) -> None:
    program = tmp_path / "game" / "game.exe"
    done = export(project, "Windows Desktop", WINDOWS, windows_template(tmp_path), program)
    assert done.returncode == 1, done.stdout
    assert (
        "ERROR: LLM: there is no res://addons/llm/bin/llm.windows.x86_64: docs/platforms.md"
        in done.stdout
    )


def test_macos(project: BlankProject, tmp_path: Path) -> None:
    project.write("project.godot", SETTINGS + ENABLED.format("llm") + TEXTURES)
    program = tmp_path / "game" / "game.zip"
    done = export(project, "macOS", MACOS, macos_template(tmp_path), program)
    assert done.returncode == 1, done.stdout
    assert (
        "ERROR: LLM: res://addons/llm/llm.gdextension has no library for macOS." in done.stdout
    ), done.stdout


@pytest.mark.parametrize("platform", ["Windows Desktop", "macOS", "Android"])
def test_presets_of_this_project(platform: str, godot: Engine, tmp_path: Path) -> None:
    """Each lacks nothing but what comes with Godot and, for Android, from Google."""
    [name] = presets(platform)
    done = subprocess.run(
        [godot.program, "--headless", "--path", ROOT, "--export-release", name, tmp_path / "game"],
        env={"HOME": str(tmp_path), "PATH": os.defpath},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    found = re.search(r"due to configuration errors:\n(.*?)\n\n", done.stdout, re.DOTALL)
    assert found is not None, done.stdout
    problems = found[1].splitlines()
    assert "No export template found at the expected path:" in problems
    assert [line for line in problems if not re.search(r"template|\bSDK\b", line)] == []
