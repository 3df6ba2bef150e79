"""The groups of `./llm test`: what each needs set up, and how its tests run."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from check import lint, runners
from setup import default_model, display, system_packages
from setup.main import prepare_engine
from setup.python_environment import ensure, ensure_test_packages


@dataclass(frozen=True)
class Group:
    """`prepare` does the set-up; `run` takes pytest's extra arguments, gives counts and status."""

    name: str
    prepare: Callable[[], object]
    run: Callable[[Sequence[str]], runners.Result]


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


GROUPS = {
    group.name: group
    for group in (
        Group("lint", _prepare_lint, lambda _arguments: lint.run()),
        Group("python", _prepare_python, runners.pytest_in("tests/python")),
        Group("shaders", _prepare_shaders, runners.pytest_in("tests/shaders")),
        Group("gpu", _prepare_engine, runners.pytest_in_engine),
        Group("godot", _prepare_engine, runners.nodes_and_commands),
    )
}
