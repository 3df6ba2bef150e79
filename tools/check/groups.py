"""The groups of `./llm test`: what each needs set up, and how its tests run."""

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass

from check import lint, runners
from setup import default_model, display, system_packages
from setup.main import prepare_engine
from setup.python_environment import ensure, ensure_site_packages, ensure_test_packages


@dataclass(frozen=True)
class Group:
    """`prepare` does the set-up; `run` takes pytest's extra arguments, gives counts and status."""

    name: str
    prepare: Callable[[], object]
    run: runners.Runner
    is_selection: bool = False  # of tests of other groups: runs only where it is named


def _prepare_lint() -> None:
    ensure()
    ensure_test_packages()


def _prepare_python() -> None:
    _prepare_lint()
    default_model.ensure()


def _prepare_shaders() -> None:
    _prepare_lint()
    system_packages.ensure(system_packages.SHADER_TOOLS)


def _prepare_engine() -> None:
    prepare_engine()
    _prepare_python()
    if not display.has_display(os.environ):
        system_packages.ensure([system_packages.XVFB])


def _prepare_docs() -> None:
    prepare_engine()
    ensure_test_packages()
    ensure_site_packages()


def _prepare_editor() -> None:
    _prepare_engine()
    system_packages.ensure([system_packages.XVFB])  # pictures are all of one size


def _prepare_platforms() -> None:
    _prepare_engine()
    system_packages.ensure([system_packages.WINDOWS_COMPILER])


# What the nodes are to a game, from the text of a prompt to the scenes.
NODE_PYTHON = ("tests/python/generate", "tests/python/text")
NODE_GPU = (
    "tests/gpu/test_hidden.py",
    "tests/gpu/test_json_answers.py",
    "tests/gpu/test_llm_*.py",
    "tests/gpu/test_godot_counted.py",
    "tests/gpu/test_godot_parts.py",
    "tests/gpu/test_godot_resources.py",
)
NODE_GODOT = ("test_llm_", "test_node_recipes", "_scene test_")

# Of each architecture, format and executor.
TABLE = runners.in_turn(
    runners.pytest_in("tests/table"), runners.pytest_in_engine("tests/gpu/table")
)

GROUPS = {
    group.name: group
    for group in (
        Group("lint", _prepare_lint, lambda _arguments: lint.run()),
        Group("python", _prepare_python, runners.pytest_in("tests/python", "tests/models")),
        Group("shaders", _prepare_shaders, runners.pytest_in("tests/shaders")),
        Group("gpu", _prepare_engine, runners.pytest_in_engine("tests/gpu/test_*.py")),
        Group(
            "godot",
            _prepare_engine,
            runners.in_turn(runners.nodes_in_engine(), runners.pytest_in("tests/commands")),
        ),
        Group("table", _prepare_engine, TABLE),
        Group("export", _prepare_engine, runners.pytest_in("tests/export")),
        Group("platforms", _prepare_platforms, runners.pytest_in("tests/platforms")),
        Group("editor", _prepare_editor, runners.pytest_in("tests/editor")),
        Group("docs", _prepare_docs, runners.pytest_in("tests/website")),
        Group(
            "node",
            _prepare_engine,
            runners.in_turn(
                runners.pytest_in(*NODE_PYTHON),
                runners.pytest_in_engine(*NODE_GPU),
                runners.nodes_in_engine(*NODE_GODOT),
            ),
            is_selection=True,
        ),
        Group(
            "models",
            _prepare_engine,
            runners.in_turn(
                runners.pytest_in("tests/models"),
                runners.pytest_in_engine("tests/gpu/test_architectures.py"),
                TABLE,
            ),
            is_selection=True,
        ),
    )
}


def chosen(names: Collection[str]) -> list[Group]:
    """The named groups in their own order; where none is named, each test once."""
    return [
        group
        for group in GROUPS.values()
        if (group.name in names if names else not group.is_selection)
    ]
