"""What lies beside the template: where it leads, and what is said where it cannot."""

import sys
from pathlib import Path

import pytest

from gpu_bench import template
from setup.report import SetupError

PROJECT = """config_version=5

[application]

config/icon="res://icon.svg"

[rendering]

renderer/rendering_method="mobile"
driver="vulkan"

[gui]

theme/custom="res://theme.tres"
"""


def test_settings_render_as_the_project_does() -> None:
    text = template.settings(PROJECT)
    assert text.startswith("config_version=5\n")
    assert 'run/main_scene="res://main.tscn"' in text
    assert '[rendering]\n\nrenderer/rendering_method="mobile"\ndriver="vulkan"\n' in text
    assert "icon" not in text
    assert "theme" not in text


def test_a_moved_configuration_means_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "addons" / "llm" / "bin"
    packages = tmp_path / ".venv" / "lib" / "python3.11" / "site-packages"
    other = tmp_path / "other" / "lib" / "python3.11" / "site-packages"
    for path in (folder, packages, other):
        path.mkdir(parents=True)
    lines = [
        "library = " + sys.executable,
        "path = ../../../.venv/lib/python3.11/site-packages",
        "path = .",
        "module = llm.nodes",
    ]
    text = "\n".join(lines) + "\n"
    assert template.moved(text, folder, None).splitlines() == [
        lines[0],
        f"path = {packages}",
        f"path = {folder}",
        lines[3],
    ]
    assert f"path = {other}\n" in template.moved(text, folder, tmp_path / "other")
    packages.rmdir()
    with pytest.raises(SetupError, match=r"site-packages, which runtime.cfg names: .* --venv"):
        template.moved(text, folder, None)


def test_a_script_names_its_binary(tmp_path: Path) -> None:
    script = tmp_path / "godot-template"
    script.write_text(
        f'#!/bin/bash\n# it\'s a wrapper\nexec /bin/nothing {sys.executable} --quiet "$@"\n'
    )
    assert template.binary_of(script) == Path(sys.executable)
    assert template.binary_of(Path(sys.executable)) == Path(sys.executable)
    script.write_text("#!/bin/bash\nexec godot\n")
    with pytest.raises(SetupError, match="neither is a binary nor names one"):
        template.binary_of(script)


def test_the_template_on_the_path_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(template, "ENGINE", tmp_path / "none")
    with pytest.raises(SetupError, match="put it on PATH as godot-template"):
        template.find(None)
    with pytest.raises(SetupError, match="'other' is not a program"):
        template.find("other")
    program = tmp_path / "godot-template"
    program.touch(mode=0o755)
    assert template.find(None) == program


def test_a_run_without_a_pack_says_which_step_makes_it(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="run the step pack first"):
        template.made_in(tmp_path)
