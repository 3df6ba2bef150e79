"""The real editor on a virtual screen, in projects of their own."""

from collections.abc import Callable, Iterator, Mapping

import pytest
from support.editor_project import EditorProject

from setup import display, engine
from setup.engine import Engine

NewProject = Callable[..., EditorProject]


@pytest.fixture(scope="session")
def godot() -> Engine:
    return engine.ensure()


@pytest.fixture(scope="session")
def screen() -> Iterator[Mapping[str, str]]:
    with display.virtual_display() as variables:
        yield variables


@pytest.fixture(scope="session")
def new_project(
    tmp_path_factory: pytest.TempPathFactory, godot: Engine, screen: Mapping[str, str]
) -> NewProject:
    """`new_project()`: with the add-on; `new_project(with_addon=False)`."""

    def make(*, with_addon: bool = True) -> EditorProject:
        folder = tmp_path_factory.mktemp("driven")
        return EditorProject(folder, godot, screen, with_addon=with_addon)

    return make


@pytest.fixture(scope="session")
def project(new_project: NewProject) -> EditorProject:
    """One that tests share which leave it as it was."""
    return new_project()
