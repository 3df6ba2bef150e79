"""The add-on's zip, made once, and blank projects with it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.installed_addon import BlankProject, build_package

from setup import engine
from setup.engine import Engine

NewProject = Callable[..., BlankProject]


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
