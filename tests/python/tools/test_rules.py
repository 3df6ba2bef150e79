"""The project's own rules on its files."""

import pytest

from check.rules import LONGEST, long_files, traces

HOME = "/ho" + "me"
REGISTRY = "pypi" + ".org"


@pytest.mark.parametrize(
    ("lines", "excused", "expected"),
    [
        pytest.param({"a.py": LONGEST}, {}, 0, id="at the limit"),
        pytest.param({"a.py": LONGEST + 1}, {}, 1, id="over it"),
        pytest.param({"a.py": LONGEST + 1}, {"a.py": "a table"}, 0, id="excused"),
        pytest.param({"a.py": 10}, {"a.py": "a table"}, 1, id="an excuse too many"),
        pytest.param({}, {"gone.py": "a table"}, 1, id="an excuse for a file that is gone"),
    ],
)
def test_long_files(lines: dict[str, int], excused: dict[str, str], expected: int) -> None:
    assert len(list(long_files(lines, excused))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"cd {HOME}/ann/project", 1, id="a home folder"),
        pytest.param(f'path = "{HOME}/ann"', 1, id="quoted"),
        pytest.param("res://tmp/model.gguf", 0, id="an address of the engine"),
        pytest.param("$ORIGIN/tmp/x", 0, id="relative to something"),
        pytest.param(f"see https://{REGISTRY}/project/numpy", 1, id="a registry"),
        pytest.param("pip install numpy", 0, id="a package's name"),
    ],
)
def test_traces(text: str, expected: int) -> None:
    assert len(list(traces("file", text))) == expected
