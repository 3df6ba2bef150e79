"""Groups of tests: which run when, and how the results of several runners become one."""

from collections.abc import Sequence

import pytest

from check.counts import Counts
from check.groups import GROUPS, NODE_GODOT, NODE_GPU, NODE_PYTHON, chosen
from check.runners import Result, found, in_turn
from setup.paths import ROOT


def test_a_plain_run_has_each_test_once() -> None:
    names = [group.name for group in chosen(())]
    assert names == [
        "lint",
        "python",
        "shaders",
        "gpu",
        "godot",
        "table",
        "export",
        "platforms",
        "editor",
        "docs",
    ]
    assert [name for name in GROUPS if name not in names] == ["node", "models"]


def test_named_groups_come_in_their_own_order() -> None:
    assert [group.name for group in chosen(["node", "lint"])] == ["lint", "node"]


@pytest.mark.parametrize("pattern", [*NODE_PYTHON, *NODE_GPU])
def test_the_node_group_names_files_that_there_are(pattern: str) -> None:
    assert list(ROOT.glob(pattern))


@pytest.mark.parametrize("part", NODE_GODOT)
def test_the_node_group_names_scripts_that_there_are(part: str) -> None:
    scripts = [path.stem for path in (ROOT / "tests" / "godot").glob("test_*.gd")]
    assert any(part in f"{script} test_" for script in scripts)


def test_a_pattern_without_a_file_is_not_passed_over() -> None:
    assert found(["tests/gpu/test_nothing_*.py"]) == [str(ROOT / "tests/gpu/test_nothing_*.py")]


@pytest.mark.parametrize(
    ("results", "arguments", "expected"),
    [
        pytest.param([(Counts(3), 0), (Counts(2), 0)], [], (Counts(5), 0), id="all well"),
        pytest.param([(Counts(3), 0), (Counts(), 5)], [], (Counts(3), 5), id="one without a test"),
        pytest.param([(Counts(3), 0), (Counts(), 5)], ["-k", "a"], (Counts(3), 0), id="filtered"),
        pytest.param([(Counts(), 1), (Counts(2), 0)], ["-x"], (Counts(2), 0), id="in the engine"),
        pytest.param([(Counts(), -11), (Counts(2), 0)], ["-x"], (Counts(2), -11), id="a crash"),
        pytest.param([(Counts(1, 1), 1), (Counts(2), 0)], [], (Counts(3, 1), 1), id="a failure"),
    ],
)
def test_runners_in_turn(
    results: list[Result], arguments: list[str], expected: tuple[Counts, int]
) -> None:
    given: list[Sequence[str]] = []
    left = iter(results)

    def run(words: Sequence[str]) -> Result:
        given.append(words)
        return next(left)

    assert in_turn(run, run)(arguments) == expected
    assert given == [arguments, arguments]
