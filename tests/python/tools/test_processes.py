"""Programs of the set-up: their logs, their failures, apt's progress."""

import sys
from pathlib import Path

import pytest

from setup import processes
from setup.report import SetupError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(processes, "CACHE", tmp_path)
    monkeypatch.setattr(processes, "ROOT", tmp_path)
    return tmp_path


def script(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_the_output_lands_in_a_log_named_after_the_title(cache: Path) -> None:
    processes.run_logged("Doing it", script("print('one'); print('two')"))
    assert (cache / "logs" / "doing-it.log").read_text() == "one\ntwo\n"


def test_a_failure_says_the_error_and_where_the_log_is() -> None:
    lines = ["cc -Werror", "error: no such thing", "error: so that failed", "stopped."]
    program = f"print(*{lines}, sep='\\n'); raise SystemExit(3)"
    with pytest.raises(SetupError, match=r"^Doing it: .*no such thing.*logs/doing-it\.log$"):
        processes.run_logged("Doing it", script(program))


def test_a_program_that_is_not_there_is_an_error_of_one_line() -> None:
    with pytest.raises(SetupError, match="no-such-program does not start"):
        processes.run_logged("Doing it", ["no-such-program"])


def test_output_of_a_failing_program_is_empty() -> None:
    assert processes.output_of(script("print('x'); raise SystemExit(1)")) == ""
    assert processes.output_of(["no-such-program"]) == ""
    assert processes.output_of(script("print('x')")) == "x\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("dlstatus:3:12.34:Retrieving file 3 of 9", " 12 %  Retrieving file 3 of 9"),
        pytest.param("pmstatus:xvfb:100.0:Installed xvfb", "100 %  Installed xvfb"),
        pytest.param("Get:1 some package", None),
    ],
)
def test_describe_apt(line: str, expected: str | None) -> None:
    assert processes.describe_apt(line) == expected
