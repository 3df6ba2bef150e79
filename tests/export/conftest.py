"""The add-on's zip, made once, and blank projects with it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.installed_addon import BlankProject, build_package
from support.small_export import Exported, Files

from setup import engine
from setup.engine import Engine

NewProject = Callable[..., BlankProject]
NewExport = Callable[..., Exported]


@pytest.fixture(scope="session")
def godot() -> Engine:
    return engine.ensure()


@pytest.fixture(scope="session")
def package(godot: Engine) -> Path:
    return build_package(godot)


@pytest.fixture
def blank(tmp_path: Path, godot: Engine, package: Path) -> NewProject:
    """`blank(enabled=True)`: a project into which the zip was unpacked."""

    def make(*, enabled: bool = True) -> BlankProject:
        return BlankProject.unpack(tmp_path, godot, package, enabled=enabled)

    return make


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory, godot: Engine, package: Path) -> BlankProject:
    """A blank project that the editor has opened before."""
    folder = tmp_path_factory.mktemp("opened")
    project = BlankProject.unpack(folder, godot, package, enabled=True)
    project.open_once()
    return project


@pytest.fixture
def export(opened: BlankProject, tmp_path: Path, godot: Engine) -> NewExport:
    """`export(files, options, **other)`: of a copy of the opened project, see Exported."""

    def run(files: Files, options: Mapping[str, str] | None = None, **other: Any) -> Exported:
        return Exported(opened.copied_to(tmp_path), godot, files, options or {}, **other)

    return run
